// A new crawl: the topic, tried on a few pages before a budget is spent.

import { h, show, fixed, verdict, empty, note, out } from './dom.js';
import { get, post } from './api.js';
import { histogram } from './chart.js';

const START = `name = "Syllabi of database courses"

[genre]                      # what kind of page
preset = "syllabus"

[content]                    # what it is about
terms = ["sql", "relational model", "query optimization"]

[limits]
pages = 1000

[fetch]
contact = ""                 # a URL or mail address where site owners can reach you
`;

export default async function create({ link }) {
  const [{ choices: genres }, { choices: strategies }] = await Promise.all([get('/genres'), get('/strategies')]);
  const state = h('div', { id: 'checked', role: 'status' });
  const meaning = h('div', {});
  const editor = h('textarea', { class: 'code', id: 'topic', rows: 22, spellcheck: 'false', 'aria-label': 'Topic file' });
  editor.value = START;
  const name = h('input', { id: 'name', placeholder: 'named after the topic' });
  const seeds = h('textarea', { id: 'seeds', rows: 4, placeholder: 'https://www.example.edu/courses/' });
  const trial = h('textarea', { id: 'trial', rows: 4, placeholder: 'URLs of pages you know, one per line: wanted ones and others' });
  const tried = h('div', { id: 'tried' });
  const plot = histogram({ label: 'Scores of the pages tried', x: 'score' });
  plot.el.classList.add('hiddenplot');
  plot.el.style.display = 'none';
  const go = h('button', { class: 'primary', id: 'start', on: { click: start } }, 'Start crawling');
  let timer;
  let run = 0;

  async function check() {
    const mine = ++run;
    try {
      const got = await post('/topics/check', { topic: editor.value });
      if (mine !== run) return;
      go.disabled = !got.ok;
      if (!got.ok) {
        show(state, h('div', { class: 'alert bad' }, h('b', {}, got.problem.what), got.problem.because && h('p', {}, got.problem.because), got.problem.hint && h('p', {}, got.problem.hint)));
        return;
      }
      const m = got.meaning;
      const chips = (set, list) => list.slice(0, 40).map((t) => h('span', { class: 'chip set-' + set }, t));
      show(state, h('div', { class: 'alert good' }, `Understood: judge ${m.judge}, strategy ${m.strategy}`));
      show(meaning, h('div', { class: 'chips' }, chips('genre', m.genre.all), chips('content', m.content.all), chips('url', m.url.all), chips('exclude', m.exclude)));
    } catch (e) {
      if (mine === run) show(state, h('div', { class: 'alert bad' }, e.what));
    }
  }
  editor.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(check, 250); });

  async function dry() {
    const urls = trial.value.split(/\s+/).filter(Boolean);
    if (!urls.length) { note('Paste a few URLs first', true); return; }
    show(tried, h('p', { class: 'loading' }, 'Fetching and judging…'));
    try {
      const got = await post('/topics/try', { topic: editor.value, urls });
      const fine = got.pages.filter((p) => p.score !== null);
      plot.el.style.display = fine.length ? '' : 'none';
      const bins = Array.from({ length: 20 }, (_, i) => ({ from: i / 20, to: (i + 1) / 20, count: 0 }));
      for (const p of fine) bins[Math.min(19, Math.floor(p.score * 20))].count++;
      for (const b of bins) b.leaf = got.threshold !== null && b.from >= got.threshold;
      plot.update(bins, got.threshold);
      show(tried, got.why && h('p', { class: 'soft' }, got.why), h('div', { class: 'scroll' }, h('table', {}, h('tbody', {}, got.pages.map((p) => h('tr', {}, h('td', { class: 'n' }, fixed(p.score, 3)), h('td', {}, h('div', { class: 'title' }, p.title || '–'), h('span', { class: 'url' }, out(p.url)), p.problem && h('div', { class: 'small' }, p.problem), h('div', { class: 'chips' }, p.hits.slice(0, 12).map((x) => h('span', { class: 'chip set-' + x.set }, `${x.term} ×${x.count}`)))), h('td', {}, p.relevant === null ? null : verdict(p.relevant))))))));
    } catch (e) {
      show(tried, h('div', { class: 'alert bad' }, [e.what, e.because, e.hint].filter(Boolean).join(' — ')));
    }
  }

  async function start() {
    go.disabled = true;
    try {
      const made = await post('/collections', { name: name.value.trim() || null, topic: editor.value, seeds: seeds.value.split(/\s+/).filter(Boolean) });
      location.hash = link(made.name, 'overview');
    } catch (e) {
      note([e.what, e.because, e.hint].filter(Boolean).join(' — '), true);
      go.disabled = false;
    }
  }
  queueMicrotask(check);
  return h('div', {},
    h('div', { class: 'head' }, h('h1', {}, 'New crawl')),
    h('div', { class: 'grid' },
      h('section', { class: 'card s7' }, h('h2', {}, 'Topic'), editor, state, meaning),
      h('div', { class: 's5', style: { display: 'grid', gap: '1rem', alignContent: 'start' } },
        h('section', { class: 'card' }, h('h2', {}, 'Try it on pages you know'), trial, h('p', {}, h('button', { id: 'try', on: { click: dry } }, 'Dry run')), plot.el, tried),
        h('section', { class: 'card' }, h('h2', {}, 'Where to start'), h('label', { class: 'field' }, 'Seeds, one per line', seeds), h('label', { class: 'field', style: { marginTop: '.6rem' } }, 'Folder', name), h('p', {}, go)),
        h('details', { class: 'card' }, h('summary', {}, 'Genres and strategies'), h('dl', { class: 'keys small' }, [...genres, ...strategies].flatMap((c) => [h('dt', {}, h('code', {}, c.name)), h('dd', { class: 'soft' }, c.summary)]))))));
}
export { empty };
