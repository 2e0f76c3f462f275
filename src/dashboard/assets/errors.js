// URLs that gave no page: what happened and when, where the link stands, and asking for them again.

import { h, count, out, empty, note, when } from './dom.js';
import { get, post, query, of } from './api.js';
import { endless } from './table.js';
import { explained } from './words.js';

export default async function errors({ collection, params, link, onLeave }) {
  const overview = await get(of(collection));
  const kinds = overview.outcomes.filter((o) => !['fetched', 'redirected', 'sitemap'].includes(o.name));
  const state = { kind: params.get('kind') ?? '', host: params.get('host') ?? '' };
  const total = h('span', { class: 'soft', role: 'status' });
  const retry = async (what) => {
    try {
      note((await post(of(collection, '/errors/retry'), what)).text);
      table.restart();
    } catch (e) {
      note([e.what, e.hint].filter(Boolean).join(': '), true);
    }
  };
  const table = endless({
    columns: [{ name: 'Address' }, { name: 'What happened' }, { name: 'When' }, { name: 'Link on' }, { name: 'Tries', class: 'n' }, { name: 'Again' }],
    none: empty('Nothing failed', 'Every URL that was asked for gave a page or a redirect.'),
    async load(cursor) {
      const got = await get(of(collection, '/errors') + query({ ...state, cursor, limit: 50 }));
      return { items: got.misses, next: got.next };
    },
    row: (m) => h('tr', {},
      h('td', { class: 'wrap', 'data-name': 'Address' }, out(m.url)),
      h('td', { class: 'wrap', 'data-name': 'What happened', title: explained(m.kind) }, m.what),
      h('td', { 'data-name': 'When' }, when(m.at)),
      h('td', { class: 'wrap', 'data-name': 'Link on' },
        m.parent ? [m.anchor && `“${m.anchor}” on `, out(m.parent)] : 'the seeds'),
      h('td', { class: 'n', 'data-name': 'Tries' }, m.attempts),
      h('td', {}, h('button', { class: 'small', title: 'Ask for this URL again', 'aria-label': 'Ask again for ' + m.url, on: { click: () => retry({ ids: [m.id] }) } }, '↻'))),
  });
  onLeave(table.stop);
  const again = h('button', { id: 'retry', on: { click: () => retry({ kind: state.kind || null, host: state.host || null }) } }, 'Ask again for all of these');
  const restart = () => {
    const one = kinds.find((k) => k.name === state.kind);
    const n = one ? one.count : kinds.reduce((sum, k) => sum + k.count, 0);
    total.textContent = state.host ? '' : count(n) + (n === 1 ? ' URL' : ' URLs');
    again.hidden = n === 0;
    history.replaceState(null, '', link(collection, 'errors', query(state)));
    return table.restart();
  };
  const select = h('select', { id: 'kind', on: { change: (e) => { state.kind = e.target.value; restart(); } } },
    [['', 'all'], ...kinds.map((k) => [k.name, `${k.name} (${count(k.count)})`])]
      .map(([value, text]) => h('option', { value, title: value && explained(value) }, text)));
  select.value = state.kind;
  let timer;
  const host = h('input', { id: 'host', type: 'search', placeholder: 'www.example.org', value: state.host, on: { input: (e) => { state.host = e.target.value.trim(); clearTimeout(timer); timer = setTimeout(restart, 250); } } });
  queueMicrotask(restart);
  return h('div', {},
    h('div', { class: 'head' }, h('h1', {}, 'Errors'), total),
    h('p', { class: 'soft' }, 'URLs that were asked for and gave no page. What is asked for again is fetched at once while the crawl runs, or when it goes on.'),
    h('div', { class: 'filters' },
      h('label', { class: 'field' }, 'Kind', select),
      h('label', { class: 'field' }, 'Host', host),
      again),
    h('div', { class: 'card' }, table.el));
}
