// A new crawl: a form and, under "advanced", the topic file; both say the same. Tried on a few pages before a budget is spent.

import { h, show, fixed, verdict, note, out } from './dom.js';
import { get, post } from './api.js';
import { histogram } from './chart.js';
import { setKey } from './toml.js';

const START = `name = ""

[genre]

[content]

[limits]
pages = 1000

[fetch]
contact = ""  # where site owners can reach you: a URL or a mail address
`;

const split = (text, by) => text.split(by).map((t) => t.trim()).filter(Boolean);
/** Kinds of fields: from what was typed to a value, and back. */
const TEXT = { read: (t) => t.trim(), write: (v) => v ?? '' };
const TERMS = { read: (t) => split(t, /[,\n]/), write: (v) => (v ?? []).join(', ') };
const LINES = { read: (t) => split(t, /\s+/), write: (v) => (v ?? []).join('\n') };
const NUMBER = { read: (t) => (t.trim() === '' ? null : Number(t)), write: (v) => v ?? '' };
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

export default async function create({ link }) {
  const { choices: genres } = await get('/genres');
  const editor = h('textarea', { class: 'code', id: 'topic', rows: 22, spellcheck: 'false', 'aria-label': 'Topic file' });
  editor.value = START;
  const state = h('div', { id: 'checked', role: 'status' });
  const meaning = h('div', { class: 'chips' });
  const area = (id, rows, placeholder) => h('textarea', { id, rows, placeholder });
  const preset = h('select', { id: 'genre' }, h('option', { value: '' }, 'any kind of page'),
    genres.map((g) => h('option', { value: g.name, title: g.summary }, g.name.replaceAll('-', ' '))));
  /** Each field with its place in the topic file, and where the server's reading of it has it. */
  const fields = [
    [h('input', { id: 'title', placeholder: 'Syllabi of database courses' }), '', 'name', TEXT, (m) => m.name],
    [area('description', 2, 'What is wanted and what is not, in a sentence'), '', 'description', TEXT, (m) => m.description],
    [preset, 'genre', 'preset', TEXT, (m) => m.genre.presets[0]],
    [area('genre-terms', 2, 'words that such pages have, separated by commas'), 'genre', 'terms', TERMS, (m) => m.genre.own],
    [area('subject', 3, 'sql, relational model, query optimization'), 'content', 'terms', TERMS, (m) => m.content.own],
    [area('exclude', 2, 'phrases that only unwanted pages have'), 'exclude', 'terms', TERMS, (m) => m.exclude],
    [area('examples', 3, 'https://… pages like those you want, one per line'), 'examples', 'relevant', LINES, (m) => m.examples],
    [area('seeds', 4, 'https://www.example.edu/courses/ one per line'), 'seeds', 'urls', LINES, (m) => m.seeds],
    [h('input', { id: 'limit-pages', type: 'number', min: 1 }), 'limits', 'pages', NUMBER, (m) => m.limits.pages],
    [h('input', { id: 'limit-relevant', type: 'number', min: 1 }), 'limits', 'relevant', NUMBER, (m) => m.limits.relevant],
    [h('input', { id: 'contact', placeholder: 'https://… or mail address' }), 'fetch', 'contact', TEXT, (m) => m.fetch.contact],
  ];
  const input = Object.fromEntries(fields.map((f) => [f[0].id, f[0]]));
  const wish = h('input', { id: 'wish', placeholder: 'syllabi of database courses, not tutorials' });
  const folder = h('input', { id: 'name', placeholder: 'named after the topic' });
  const trial = area('trial', 4, 'URLs of pages you know, one per line: wanted ones and others');
  const tried = h('div', { id: 'tried' });
  const plot = histogram({ label: 'Scores of the pages tried', x: 'score', y: 'pages' });
  plot.el.style.display = 'none';
  const go = h('button', { class: 'primary', id: 'start', on: { click: start } }, 'Start crawling');
  const advanced = h('details', { class: 'card', id: 'advanced' }, h('summary', {}, 'Advanced: the topic file'),
    h('p', { class: 'soft small' }, 'The form and this text say the same; what the form has no field for stays as it is.'), editor);
  input['limit-pages'].value = 1000;
  let timer;
  let run = 0;

  /** From the form to the file. */
  function typed(el, section, key, kind) {
    editor.value = setKey(editor.value, section, key, kind.read(el.value));
    later();
  }
  for (const [el, section, key, kind] of fields) el.addEventListener('input', () => typed(el, section, key, kind));
  const later = () => { clearTimeout(timer); timer = setTimeout(check, 250); };
  editor.addEventListener('input', later);

  async function check() {
    const mine = ++run;
    try {
      const got = await post('/topics/check', { topic: editor.value });
      if (mine !== run) return;
      go.disabled = !got.ok;
      if (!got.ok && editor.value === START) {
        show(state, h('p', { class: 'soft' }, 'Say what you want: in a sentence above, or by kind and subject; and give it a name.'));
        return;
      }
      if (!got.ok) {
        const p = got.problem;
        // Whoever fills in the form does not see the lines of the file.
        if (!advanced.open) p.what = p.what.replace(/^topic\.toml:\d+:\d+: /, '');
        show(state, h('div', { class: 'alert bad' }, h('b', {}, p.what), p.because && h('p', {}, p.because), p.hint && h('p', {}, p.hint)));
        return;
      }
      const m = got.meaning;
      // From the file to the form. A field that says the same already keeps its commas.
      for (const [el, , , kind, of] of fields) {
        const now = of(m);
        if (!same(kind.read(el.value), kind.read(String(kind.write(now))))) el.value = kind.write(now);
      }
      const chips = (set, list) => list.slice(0, 40).map((t) => h('span', { class: 'chip set-' + set }, t));
      show(state, h('div', { class: 'alert good' }, `Understood: judge ${m.judge}, strategy ${m.strategy}`));
      show(meaning, chips('genre', m.genre.all), chips('content', m.content.all), chips('url', m.url.all), chips('exclude', m.exclude));
    } catch (e) {
      if (mine === run) show(state, h('div', { class: 'alert bad' }, e.what));
    }
  }

  /** A sentence becomes kind, subject and what is not wanted. */
  async function draft(e) {
    e.preventDefault();
    const sentence = wish.value.trim();
    if (!sentence) { note('Say first what you want', true); return; }
    const d = await post('/topics/draft', { sentence });
    const put = (id, value) => { const f = fields.find((x) => x[0].id === id); f[0].value = f[3].write(value); typed(...f); };
    if (!input.title.value.trim()) put('title', d.name);
    put('description', sentence);
    if (d.genre) put('genre', d.genre);
    put('subject', [...new Set([...TERMS.read(input.subject.value), ...d.subject])]);
    put('exclude', [...new Set([...TERMS.read(input.exclude.value), ...d.exclude])]);
  }

  function add(term) {
    input.subject.value = [...TERMS.read(input.subject.value), term].join(', ');
    typed(input.subject, 'content', 'terms', TERMS);
  }

  async function dry() {
    const urls = LINES.read(trial.value);
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
      const hits = (p, set, name) => {
        const list = p.hits.filter((x) => x.set === set);
        return h('div', { class: 'chips small' }, h('span', { class: 'soft' }, list.length ? name : `no ${name}`),
          list.slice(0, 12).map((x) => h('span', { class: 'chip set-' + set }, `${x.term} ×${x.count}`)));
      };
      const page = (p) => h('tr', {},
        h('td', { class: 'n', 'data-name': 'Score' }, fixed(p.score, 3)),
        h('td', {}, h('div', { class: 'title' }, p.title || '–'), h('span', { class: 'url' }, out(p.url)),
          p.problem ? h('div', { class: 'small' }, p.problem) : [hits(p, 'genre', 'terms of the kind'), hits(p, 'content', 'terms of the subject')]),
        h('td', {}, p.relevant === null ? null : verdict(p.relevant)));
      show(tried, got.why && h('p', { class: 'soft' }, got.why),
        got.suggestions.length > 0 && h('div', { id: 'suggested' }, h('p', { class: 'small soft' }, 'Terms of the relevant ones that the topic does not have; a click adds one:'),
          h('div', { class: 'chips' }, got.suggestions.map((t) => h('button', { class: 'chip', on: { click: (e) => { add(t); e.target.remove(); } } }, '+ ' + t)))),
        h('div', { class: 'scroll rows' }, h('table', {}, h('tbody', {}, got.pages.map(page)))));
    } catch (e) {
      show(tried, h('div', { class: 'alert bad' }, [e.what, e.because, e.hint].filter(Boolean).join(' — ')));
    }
  }

  async function start() {
    go.disabled = true;
    try {
      const made = await post('/collections', { name: folder.value.trim() || null, topic: editor.value, seeds: [] });
      location.hash = link(made.name, 'overview');
    } catch (e) {
      note([e.what, e.because, e.hint].filter(Boolean).join(' — '), true);
      go.disabled = false;
    }
  }
  queueMicrotask(check);
  const field = (name, control) => h('label', { class: 'field' }, name, control);
  const said = h('form', { class: 'searchbox', on: { submit: (e) => draft(e).catch((x) => note(x.what, true)) } }, wish, h('button', {}, 'Fill in'));
  wish.setAttribute('aria-label', 'What you want, in a sentence');
  return h('div', {},
    h('div', { class: 'head' }, h('h1', {}, 'New crawl')),
    h('div', { class: 'grid' },
      h('div', { class: 's7 stacked' },
        h('section', { class: 'card form' }, h('h2', {}, 'What you want'), said,
          field('Name', input.title), field('Description', input.description),
          h('div', { class: 'grid2' }, field('Kind of page', preset), field('More words of that kind', input['genre-terms'])),
          field('Subject: words and phrases', input.subject), field('Not wanted', input.exclude), field('Example pages', input.examples)),
        h('section', { class: 'card form' }, h('h2', {}, 'Where, and how far'), field('Seeds, one per line', input.seeds),
          h('div', { class: 'grid2' }, field('Stop after pages', input['limit-pages']), field('Stop after relevant pages', input['limit-relevant']),
            field('Your contact, for site owners', input.contact), field('Folder', folder)),
          state, meaning, h('p', {}, go)),
        advanced),
      h('div', { class: 's5 stacked' },
        h('section', { class: 'card' }, h('h2', {}, 'Try it on pages you know'), trial, h('p', {}, h('button', { id: 'try', on: { click: dry } }, 'Dry run')), plot.el, tried))));
}
