// Full-text search over what was found.

import { h, show, count, fixed, empty, loading, failure, pieces, verdict, out } from './dom.js';
import { get, query, of } from './api.js';

const TITLES = { host: 'Host', language: 'Language', genre: 'Genre terms', kind: 'Says it is', year: 'Published in', month: 'Fetched in' };

export default async function search({ collection, params, link }) {
  const state = { q: '', host: '', language: '', genre: '', kind: '', year: '', month: '', all: '' };
  for (const key of Object.keys(state)) if (params.has(key)) state[key] = params.get(key);
  const results = h('div', { id: 'results' });
  const facets = h('aside', { class: 'facets card s4', 'aria-label': 'Narrow down' });
  let run = 0;
  async function load(offset = 0) {
    const mine = ++run;
    history.replaceState(null, '', link(collection, 'search', query(state)));
    if (!state.q) {
      facets.hidden = true;
      show(results, empty('Search what was found', 'Words, "phrases in quotes", -not, title:word, host:www.example.org'));
      return;
    }
    if (!offset) show(results, loading());
    try {
      const got = await get(of(collection, '/search') + query({ ...state, offset: offset || '', limit: 20 }));
      if (mine !== run) return;
      facets.hidden = false;
      show(facets, got.facets.filter((f) => f.values.length || state[f.name]).map((f) => h('section', {}, h('h2', {}, TITLES[f.name] ?? f.name), h('ul', {}, f.values.map((v) => h('li', {}, h('button', { 'aria-pressed': state[f.name] === v.value, on: { click: () => { state[f.name] = state[f.name] === v.value ? '' : v.value; load(); } } }, h('span', {}, v.value), h('span', { class: 'soft num' }, count(v.count)))))))));
      if (!offset) show(results, h('p', { class: 'soft', role: 'status' }, got.counted ? `${got.counted >= 1000 ? 'more than ' : ''}${count(got.counted)} pages found among ${count(got.indexed)}` : ''));
      results.querySelector('.more')?.remove();
      if (!got.results.length && !offset) results.append(empty('Nothing found', 'Try fewer words' + (state.all ? '.' : ', or search the pages judged not relevant as well.')));
      for (const r of got.results) {
        results.append(h('article', { class: 'result' }, h('a', { class: 'title', href: link(collection, 'pages/' + r.id) }, r.title || '(no title)'), h('div', { class: 'url' }, out(r.url)), h('p', {}, pieces(r.snippet)), h('p', { class: 'small soft' }, verdict(r.relevant), ' score ', fixed(r.score, 3), r.language && ` · ${r.language}`)));
      }
      if (got.more) results.append(h('p', { class: 'more' }, h('button', { on: { click: () => load(offset + 20) } }, 'More')));
    } catch (e) {
      if (mine === run) show(results, failure(e));
    }
  }
  const input = h('input', { type: 'search', name: 'q', value: state.q, 'aria-label': 'Search', placeholder: 'Search the pages of this collection', autocomplete: 'off' });
  const all = h('input', { type: 'checkbox', on: { change: (e) => { state.all = e.target.checked ? 'true' : ''; load(); } } });
  all.checked = state.all === 'true';
  const form = h('form', { class: 'searchbox', role: 'search', on: { submit: (e) => { e.preventDefault(); state.q = input.value.trim(); load(); } } }, input, h('button', { class: 'primary' }, 'Search'));
  queueMicrotask(() => { input.focus(); load(); });
  return h('div', {},
    h('h1', { class: 'hidden' }, 'Search'), form,
    h('div', { class: 'grid' }, h('div', { class: 's8' }, h('label', { class: 'row small soft' }, all, 'also pages judged not relevant'), results), facets));
}
