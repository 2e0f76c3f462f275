// Hosts: what they gave, whether they may be asked, and the user's word about them.

import { h, count, percent, fixed, badge, empty, note, span } from './dom.js';
import { get, put, query, of } from './api.js';
import { endless } from './table.js';
import { explained } from './words.js';

/** What showing its pages in a browser came to. */
const rendered = (r) => !r ? 'No page of it was shown in a browser'
  : `Of ${count(r.tried)} pages shown in a browser, scripts brought text or links on ${count(r.worthwhile)}; ${count(r.failed)} could not be rendered; ${span(Math.round(r.ms / r.tried))} each`;

export default async function hosts({ collection, link, onLeave }) {
  const state = { q: '', sort: 'relevant' };
  const total = h('span', { class: 'soft', role: 'status' });
  const rule = async (host, value) => {
    try {
      note((await put(of(collection, '/hosts/' + encodeURIComponent(host)), { rule: value })).text);
      table.restart();
    } catch (e) {
      note([e.what, e.hint].filter(Boolean).join(': '), true);
    }
  };
  const button = (x, value, text, title) => h('button', { class: 'small', title, 'aria-pressed': x.rule === value, on: { click: () => rule(x.host, x.rule === value ? 'none' : value) } }, text);
  const table = endless({
    columns: [{ name: 'Host' }, { name: 'State' }, { name: 'Relevant', class: 'n' }, { name: 'Pages', class: 'n' }, { name: 'Share', class: 'n' }, { name: 'Mean score', class: 'n wide-only' }, { name: 'Pending', class: 'n' }, { name: 'robots.txt', class: 'wide-only' }, { name: 'Rendered', class: 'n wide-only' }, { name: 'Pause', class: 'n wide-only' }, { name: 'Failures', class: 'n wide-only' }, { name: 'Rule' }],
    none: empty('No host yet'),
    async load(cursor) {
      const got = await get(of(collection, '/hosts') + query({ ...state, cursor }));
      total.textContent = count(got.total) + ' hosts';
      return { items: got.hosts, next: got.next };
    },
    row: (x) => h('tr', {},
      h('td', {}, h('a', { class: 'title', href: link(collection, 'pages', query({ host: x.host })) }, x.host), x.address && h('span', { class: 'url' }, x.address)),
      h('td', { 'data-name': 'State', title: explained(x.state) }, badge(x.rule === 'block' ? 'blocked by you' : x.state, x.rule === 'block' ? 'blocked' : undefined)),
      h('td', { class: 'n', 'data-name': 'Relevant' }, count(x.relevant)), h('td', { class: 'n', 'data-name': 'Pages' }, count(x.pages)), h('td', { class: 'n', 'data-name': 'Share' }, percent(x.share, 0)),
      h('td', { class: 'n wide-only' }, fixed(x.mean_score)),
      h('td', { class: 'n', 'data-name': 'Pending' }, x.pending ? h('a', { href: link(collection, 'frontier', query({ host: x.host })) }, count(x.pending)) : '0'),
      h('td', { class: 'wide-only' }, x.robots + (x.robots_status ? ` (${x.robots_status})` : '')),
      h('td', { class: 'n wide-only', title: rendered(x.rendered) }, x.rendered ? `${count(x.rendered.worthwhile)} of ${count(x.rendered.tried)}` : '–'),
      h('td', { class: 'n wide-only' }, span(x.delay_ms)), h('td', { class: 'n wide-only' }, count(x.failures)),
      h('td', {}, h('div', { class: 'row' }, button(x, 'boost', '↑', 'Fetch from this host first'), button(x, 'block', '⊘', 'Fetch nothing more from this host')))),
  });
  onLeave(table.stop);
  let timer;
  queueMicrotask(table.restart);
  const select = h('select', { on: { change: (e) => { state.sort = e.target.value; table.restart(); } } }, [['relevant', 'most relevant pages'], ['share', 'best share'], ['pages', 'most pages'], ['pending', 'most pending'], ['failures', 'most failures'], ['name', 'name']].map(([v, t]) => h('option', { value: v }, t)));
  return h('div', {},
    h('div', { class: 'head' }, h('h1', {}, 'Hosts'), total),
    h('div', { class: 'filters' },
      h('label', { class: 'field wide' }, 'Name', h('input', { type: 'search', placeholder: 'part of the name', on: { input: (e) => { state.q = e.target.value.trim(); clearTimeout(timer); timer = setTimeout(table.restart, 250); } } })),
      h('label', { class: 'field' }, 'Order', select)),
    h('div', { class: 'card' }, table.el));
}
