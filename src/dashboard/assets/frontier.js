// What comes next, and why.

import { h, show, count, key, empty, failure } from './dom.js';
import { get, query, of } from './api.js';
import { sourcesOf } from './page.js';

export default async function frontier({ collection, params, link, onLeave }) {
  const list = h('tbody');
  const total = h('span', { class: 'soft', role: 'status' });
  let host = params.get('host') ?? '';
  const none = h('div', {});
  let seen = '';
  async function load() {
    try {
      const got = await get(of(collection, '/frontier') + query({ host, limit: 100 }));
      total.textContent = count(got.pending) + ' URLs pending';
      const now = JSON.stringify(got.urls);
      if (now === seen) return;
      seen = now;
      show(none, got.urls.length ? null : empty('Nothing is waiting', host ? 'This host has no pending URL.' : 'Every URL that was found is settled.'));
      const openRows = new Set([...list.querySelectorAll('details[open]')].map((d) => d.dataset.id));
      show(list, got.urls.map((u, i) => h('tr', {},
        h('td', { class: 'n' }, i + 1),
        h('td', { class: 'n', 'data-name': 'Priority' }, key(u.priority)),
        h('td', {}, h('div', { class: 'wrap' }, u.url), h('details', { 'data-id': u.id, open: openRows.has(String(u.id)) }, h('summary', { class: 'small soft' }, u.sources[0]?.anchor ? `“${u.sources[0].anchor}”` : 'why', u.seen > 1 ? ` · seen ${u.seen} times` : ''), sourcesOf(u.sources))),
        h('td', { class: 'n wide-only' }, u.depth))));
    } catch (e) {
      show(none, failure(e));
    }
  }
  const input = h('input', { type: 'search', value: host, placeholder: 'www.example.org', on: { change: (e) => { host = e.target.value.trim(); history.replaceState(null, '', link(collection, 'frontier', query({ host }))); seen = ''; load(); } } });
  await load();
  const timer = setInterval(load, 3000);
  onLeave(() => clearInterval(timer));
  return h('div', {},
    h('div', { class: 'head' }, h('h1', {}, 'Frontier'), total),
    h('p', { class: 'soft' }, 'The best URLs that were found but not fetched yet, best first. A host that has to wait lets others go first.'),
    h('div', { class: 'filters' }, h('label', { class: 'field' }, 'Host', input)),
    h('div', { class: 'card' }, h('div', { class: 'scroll rows' }, h('table', {}, h('thead', {}, h('tr', {}, h('th', { class: 'n', scope: 'col' }, '#'), h('th', { class: 'n', scope: 'col' }, 'Priority'), h('th', { scope: 'col' }, 'URL and why'), h('th', { class: 'n wide-only', scope: 'col' }, 'Depth'))), list)), none));
}
