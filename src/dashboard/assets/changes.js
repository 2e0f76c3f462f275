// What is new: pages that came, changed, went away or moved, with the difference.

import { h, count, out, empty, when, badge } from './dom.js';
import { get, query, of } from './api.js';
import { endless } from './table.js';

const marks = { '+': 'ins', '-': 'del' };
const diff = (lines) => h('div', { class: 'diff' }, lines.map((l) => h(marks[l.mark] ?? 'span', {}, l.mark === '@' ? '…' : l.text)));
const about = (c) => (c.times ? `+${count(c.added)} −${count(c.removed)} words` + (c.times > 1 ? `, ${c.times} times` : '') : '');

export default async function changes({ collection, params, link, onLeave }) {
  const state = { since: params.get('since') ?? '7d', kind: params.get('kind') ?? '' };
  const total = h('span', { class: 'soft', role: 'status' });
  const table = endless({
    columns: [{ name: 'What' }, { name: 'Page' }, { name: 'When' }],
    none: empty('Nothing new', 'Known pages are visited again by gleaner refresh; a crawl finds new ones.'),
    async load(cursor) {
      const got = await get(of(collection, '/changes') + query({ ...state, cursor, limit: 30 }));
      const parts = Object.entries(got.totals).filter(([, n]) => n).map(([name, n]) => `${count(n)} ${name}`);
      total.textContent = parts.join(', ');
      return { items: got.changes, next: got.next };
    },
    row: (c) => h('tr', {},
      h('td', { 'data-name': 'What' }, badge(c.kind)),
      h('td', { class: 'wrap', 'data-name': 'Page' },
        h('a', { class: 'title', href: link(collection, 'pages/' + c.id) }, c.title || c.url), out(c.url),
        about(c) && h('span', { class: 'soft' }, ' ' + about(c)),
        c.to && h('div', {}, 'now at ', out(c.to)),
        c.begins && h('p', { class: 'soft' }, c.begins + '…'),
        c.diff.length ? diff(c.diff) : null),
      h('td', { 'data-name': 'When' }, when(c.at))),
  });
  onLeave(table.stop);
  const restart = () => {
    history.replaceState(null, '', link(collection, 'changes', query(state)));
    return table.restart();
  };
  const choose = (name, options) => {
    const select = h('select', { id: name, on: { change: (e) => { state[name] = e.target.value; restart(); } } },
      options.map(([value, text]) => h('option', { value }, text)));
    select.value = state[name];
    return select;
  };
  queueMicrotask(restart);
  return h('div', {},
    h('div', { class: 'head' }, h('h1', {}, 'What’s new'), total),
    h('div', { class: 'filters' },
      h('label', { class: 'field' }, 'Since', choose('since', [['1h', 'an hour'], ['1d', 'a day'], ['7d', 'a week'], ['30d', 'a month'], ['365d', 'a year']])),
      h('label', { class: 'field' }, 'Kind', choose('kind', [['', 'all'], ['new', 'new'], ['changed', 'changed'], ['gone', 'gone'], ['moved', 'moved'], ['back', 'back again']]))),
    h('div', { class: 'card' }, table.el));
}
