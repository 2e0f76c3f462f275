// The shell: which view is shown, the navigation, light and dark, keys.

import { h, show, loading, failure, note } from './dom.js';
import { get, of } from './api.js';
import home from './home.js';
import overview from './overview.js';
import pages from './pages.js';
import page from './page.js';
import frontier from './frontier.js';
import hosts from './hosts.js';
import search from './search.js';
import teach from './teach.js';
import compare from './compare.js';
import create from './create.js';
import changes from './changes.js';
import errors from './errors.js';
import glossary from './glossary.js';

const main = document.getElementById('main');
const nav = document.getElementById('nav');
const where = document.getElementById('where');

/** Of one collection: path after its name, title, view. */
const VIEWS = [
  ['overview', 'Overview', overview, 'o'],
  ['pages', 'Pages', pages, 'p'],
  ['frontier', 'Frontier', frontier, 'f'],
  ['hosts', 'Hosts', hosts, 'h'],
  ['changes', 'What’s new', changes, 'n'],
  ['errors', 'Errors', errors, 'e'],
  ['search', 'Search', search, 's'],
  ['teach', 'Teach', teach, 't'],
];

let leave = () => {};
let current = { collection: null };
let keys = null;

/** `#/c/NAME/view/rest?a=b` in parts. */
function place() {
  const [path, q] = location.hash.replace(/^#/, '').split('?');
  const parts = path.split('/').filter(Boolean).map((p) => { try { return decodeURIComponent(p); } catch { return p; } });
  return { parts, params: new URLSearchParams(q ?? '') };
}

export const link = (collection, view, rest = '') => `#/c/${encodeURIComponent(collection)}/${view}${rest}`;

const titles = new Map();
/** What a collection is called; its folder's name until that is known. */
async function titleOf(collection) {
  if (!titles.has(collection)) {
    const { collections } = await get('/collections');
    for (const c of collections) titles.set(c.name, c.title);
  }
  return titles.get(collection) ?? collection;
}

function menu(collection, view) {
  const item = (href, text, on) => h('a', { href, 'aria-current': on ? 'page' : null }, text);
  const own = collection ? VIEWS.map(([name, title]) => item(link(collection, name), title, view === name)) : [item('#/', 'Collections', view === 'home')];
  show(nav, ...own, h('span', { class: 'gap' }), item('#/compare', 'Compare', view === 'compare'), item('#/new', 'New crawl', view === 'new'));
  // On a narrow screen the list of views can be wider than the screen.
  nav.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  where.replaceChildren();
  if (collection) {
    const name = h('a', { href: link(collection, 'overview') }, collection);
    show(where, name);
    titleOf(collection).then((title) => { name.textContent = title; document.title = document.title.replace(collection, title); }).catch(() => {});
  }
}

/** Views that belong to no collection. */
const OTHERS = { home: ['Collections', home], compare: ['Compare', compare], new: ['New crawl', create], glossary: ['Words', glossary] };

async function route() {
  leave();
  leave = () => {};
  keys = null;
  const { parts, params } = place();
  show(main, loading());
  const stops = [];
  const context = { params, main, link, onLeave: (fn) => stops.push(fn), onKey: (fn) => { keys = fn; } };
  leave = () => stops.forEach((stop) => stop());
  const mine = leave;
  try {
    let built;
    if (parts[0] === 'c' && parts[1]) {
      const [, collection, view = 'overview', id] = parts;
      current = { collection };
      const found = VIEWS.find(([name]) => name === view) ?? VIEWS[0];
      menu(collection, found[0]);
      document.title = `${found[1]} · ${collection} · Gleaner`;
      built = await (view === 'pages' && id ? page : found[2])({ ...context, collection, id });
    } else {
      current = { collection: null };
      const name = parts[0] in OTHERS ? parts[0] : 'home';
      const [title, view] = OTHERS[name];
      menu(null, name);
      document.title = title + ' · Gleaner';
      built = await view(context);
    }
    if (leave === mine) show(main, built);
  } catch (e) {
    if (leave === mine) show(main, failure(e));
  }
  main.focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

// ---- light and dark -----------------------------------------------------------------------------------------------

const dark = matchMedia('(prefers-color-scheme: dark)');
const themeButton = document.getElementById('theme');
function theme() {
  let kept = null;
  try { kept = localStorage.getItem('theme'); } catch { /* not allowed to remember */ }
  const now = kept ?? (dark.matches ? 'dark' : 'light');
  document.documentElement.dataset.theme = now;
  themeButton.textContent = now === 'dark' ? '☀' : '☾';
}
themeButton.addEventListener('click', () => {
  try { localStorage.setItem('theme', document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'); } catch { /* as above */ }
  theme();
});
dark.addEventListener('change', theme);
theme();

// ---- keys ---------------------------------------------------------------------------------------------------------

const help = document.getElementById('keys');
document.getElementById('help').addEventListener('click', () => help.showModal());
let afterG = 0;
document.addEventListener('keydown', (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName) || document.querySelector('dialog[open]')) return;
  // A view may have a use of its own for the question mark.
  if (e.key === '?') { if (keys?.('?')) e.preventDefault(); else help.showModal(); return; }
  if (e.key === 'g') { afterG = Date.now(); return; }
  if (current.collection && Date.now() - afterG < 1200) {
    const found = VIEWS.find((v) => v[3] === e.key);
    afterG = 0;
    if (found) { location.hash = link(current.collection, found[0]); e.preventDefault(); return; }
  }
  if (e.key === '/' && current.collection) { location.hash = link(current.collection, 'search'); e.preventDefault(); return; }
  if (keys?.(e.key)) e.preventDefault();
});

// ---- start --------------------------------------------------------------------------------------------------------

// The token is in a cookie now: out of the address, the history and what people copy.
if (new URLSearchParams(location.search).has('token')) history.replaceState(null, '', location.pathname + location.hash);
addEventListener('hashchange', route);
addEventListener('unhandledrejection', (e) => note(e.reason?.what ?? e.reason?.message ?? 'Something went wrong', true));

/** With one collection there is nothing to choose. */
async function start() {
  if (!location.hash || location.hash === '#/') {
    try {
      const { collections } = await get('/collections');
      if (collections.length === 1) { location.replace(link(collections[0].name, 'overview')); return; }
    } catch { /* the view will say it */ }
  }
  route();
}
start();
export { of };
