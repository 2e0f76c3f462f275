// URLs that gave no page: what happened, and where the link stands.

import { h, count, out, empty } from './dom.js';
import { get, query, of } from './api.js';
import { endless } from './table.js';
import { explained } from './words.js';

export default async function errors({ collection, params, link, onLeave }) {
  const overview = await get(of(collection));
  const kinds = overview.outcomes.filter((o) => !['fetched', 'redirected', 'sitemap'].includes(o.name));
  const state = { kind: params.get('kind') ?? '' };
  const total = h('span', { class: 'soft', role: 'status' });
  const table = endless({
    columns: [{ name: 'Address' }, { name: 'What happened' }, { name: 'Link on' }, { name: 'Tries', class: 'n' }],
    none: empty('Nothing failed', 'Every URL that was asked for gave a page or a redirect.'),
    async load(cursor) {
      const got = await get(of(collection, '/errors') + query({ ...state, cursor, limit: 50 }));
      return { items: got.misses, next: got.next };
    },
    row: (m) => h('tr', {},
      h('td', { class: 'wrap', 'data-name': 'Address' }, out(m.url)),
      h('td', { 'data-name': 'What happened', title: explained(m.kind) }, m.what),
      h('td', { class: 'wrap', 'data-name': 'Link on' },
        m.parent ? [m.anchor && `“${m.anchor}” on `, out(m.parent)] : 'the seeds'),
      h('td', { class: 'n', 'data-name': 'Tries' }, m.attempts)),
  });
  onLeave(table.stop);
  const restart = () => {
    const one = kinds.find((k) => k.name === state.kind);
    const n = one ? one.count : kinds.reduce((sum, k) => sum + k.count, 0);
    total.textContent = count(n) + (n === 1 ? ' URL' : ' URLs');
    history.replaceState(null, '', link(collection, 'errors', query(state)));
    return table.restart();
  };
  const select = h('select', { id: 'kind', on: { change: (e) => { state.kind = e.target.value; restart(); } } },
    [['', 'all'], ...kinds.map((k) => [k.name, `${k.name} (${count(k.count)})`])]
      .map(([value, text]) => h('option', { value, title: value && explained(value) }, text)));
  select.value = state.kind;
  queueMicrotask(restart);
  const retry = `gleaner crawl --out ${collection} --retry`;
  return h('div', {},
    h('div', { class: 'head' }, h('h1', {}, 'Errors'), total),
    h('p', { class: 'soft' }, 'URLs that were asked for and gave no page. What gave no answer at all is asked for again by ',
      h('code', {}, retry), '.'),
    h('div', { class: 'filters' }, h('label', { class: 'field' }, 'Kind', select)),
    h('div', { class: 'card' }, table.el));
}
