// Every page that was fetched, filtered, endless, labelled from the keyboard.

import { h, show, count, fixed, badge, verdict, empty, note } from './dom.js';
import { get, query, of } from './api.js';
import { endless, chooser } from './table.js';
import { say, LABEL_KEYS } from './label.js';
import { exportDialog } from './exports.js';

/** The list that was last looked at, so that j and k go on in the page view. */
export const lastList = { collection: null, ids: [] };

export default async function pages({ collection, params, link, onLeave, onKey }) {
  const state = { relevant: '', host: '', language: '', min_score: '', max_score: '', label: '', q: '', sort: 'best', copies: 'false' };
  for (const key of Object.keys(state)) if (params.has(key)) state[key] = params.get(key);
  // What was looked for comes first; whoever asks for something else gets that.
  if (![...params.keys()].length) state.relevant = 'true';
  const total = h('span', { class: 'soft', role: 'status' });
  const open = (item) => { location.hash = link(collection, 'pages/' + item.id); };
  const labelBadge = (l) => (l === null ? null : badge(l ? 'you: yes' : 'you: no', l ? 'yes' : 'blocked'));
  const table = endless({
    columns: [{ name: 'Score' }, { name: 'Page' }, { name: 'Verdict' }, { name: 'Language', class: 'wide-only' }, { name: 'Depth', class: 'n wide-only' }],
    none: empty('No page fits', 'Loosen the filters, or wait for the crawl to find more.'),
    async load(cursor) {
      const got = await get(of(collection, '/pages') + query({ ...state, cursor, limit: 50 }));
      if (got.matching !== null) total.textContent = count(got.matching) + (got.matching === 1 ? ' page' : ' pages');
      else total.textContent = 'by rank';
      return { items: got.pages, next: got.next };
    },
    row: (p, i) => {
      lastList.ids[i] = p.id;
      return h('tr', { class: 'open', 'data-id': p.id, on: { click: (e) => { if (e.target.tagName !== 'A') open(p); } } },
        h('td', { class: 'n', 'data-name': 'Score' }, fixed(p.score, 3)),
        h('td', {}, h('a', { class: 'title', href: link(collection, 'pages/' + p.id) }, p.title || '(no title)'), h('span', { class: 'url' }, p.url)),
        h('td', { class: 'verdict' }, verdict(p.relevant), ' ', labelBadge(p.label), p.copies > 0 && badge(`+${p.copies} ${p.copies === 1 ? 'copy' : 'copies'}`, ''), p.duplicate && badge('copy', '')),
        h('td', { class: 'wide-only', 'data-name': 'Language' }, p.language),
        h('td', { class: 'n wide-only', 'data-name': 'Depth' }, p.depth));
    },
  });
  onLeave(table.stop);
  const pick = chooser(table, open);
  let timer;
  const restart = () => {
    lastList.collection = collection;
    lastList.ids = [];
    pick.reset();
    history.replaceState(null, '', link(collection, 'pages', query(state)));
    return table.restart();
  };
  const later = () => { clearTimeout(timer); timer = setTimeout(restart, 250); };
  const input = (name, props) => h('input', { value: state[name], on: { input: (e) => { state[name] = e.target.value.trim(); later(); } }, ...props });
  const select = (name, options) => {
    const el = h('select', { on: { change: (e) => { state[name] = e.target.value; restart(); } } }, options.map(([value, text]) => h('option', { value }, text)));
    el.value = state[name];
    return el;
  };
  const field = (name, control, cls = '') => h('label', { class: 'field ' + cls }, name, control);
  onKey((key) => {
    if (pick.key(key)) return true;
    if (key in LABEL_KEYS && pick.item) {
      const { item, row } = pick;
      say(collection, item.id, LABEL_KEYS[key]).then((effect) => {
        item.label = LABEL_KEYS[key];
        item.relevant = effect.relevant ?? item.relevant;
        show(row.querySelector('.verdict'), verdict(item.relevant), ' ', labelBadge(item.label));
      }).catch((e) => note(e.what, true));
      pick.key('j');
      return true;
    }
    return false;
  });
  queueMicrotask(restart);
  return h('div', {},
    h('div', { class: 'head' }, h('h1', {}, 'Pages'), total, h('span', { class: 'spread' }),
      h('button', { on: { click: () => exportDialog(collection) } }, 'Export…'), h('span', { class: 'soft small wide-only' }, h('kbd', {}, 'j'), ' ', h('kbd', {}, 'k'), ' move, ', h('kbd', {}, 'y'), ' ', h('kbd', {}, 'n'), ' label, ', h('kbd', {}, 'Enter'), ' open')),
    h('div', { class: 'filters' },
      field('Text', input('q', { type: 'search', placeholder: 'words in the page' }), 'wide'),
      field('Verdict', select('relevant', [['', 'all'], ['true', 'relevant'], ['false', 'not relevant']])),
      field('Order', select('sort', [['best', 'best score'], ['newest', 'newest'], ['oldest', 'oldest'], ['worst', 'lowest score'], ['unsure', 'nearest the threshold']])),
      h('details', { class: 'more', open: innerWidth > 600 }, h('summary', {}, 'More filters'), h('div', { class: 'filters' },
        field('Label', select('label', [['', 'all'], ['any', 'labelled'], ['yes', 'you said yes'], ['no', 'you said no'], ['none', 'not labelled']])),
        field('Host', input('host', { placeholder: 'www.example.org' })),
        field('Language', input('language', { placeholder: 'en', size: 4 })),
        field('Score from', input('min_score', { type: 'number', min: 0, max: 1, step: 0.05 })),
        field('to', input('max_score', { type: 'number', min: 0, max: 1, step: 0.05 })),
        field('Copies', select('copies', [['false', 'folded'], ['', 'shown']]))))),
    h('div', { class: 'card' }, table.el));
}
