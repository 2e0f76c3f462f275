// Crawls and backtests side by side.

import { h, show, count, percent, fixed, empty, failure } from './dom.js';
import { get, of } from './api.js';
import { lines } from './chart.js';

/** Most strategies in one chart. */
const BEST = 6;

/** Each collection by its title; those with the same title by their folder as well. */
function titles(collections) {
  const times = new Map();
  for (const { title } of collections) times.set(title, (times.get(title) ?? 0) + 1);
  return new Map(
    collections.map((c) => [c.name, times.get(c.title) > 1 ? `${c.title} (${c.name})` : c.title]),
  );
}

/** A table: its columns as [name, class], its body. */
const table = (columns, body) =>
  h(
    'div',
    { class: 'scroll' },
    h(
      'table',
      {},
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          columns.map(([name, kind]) => h('th', { class: kind, scope: 'col' }, name)),
        ),
      ),
      body,
    ),
  );
const cell = (text) => h('td', { class: 'n' }, text);

/** Chosen crawls in one chart. */
function crawls(collections, link) {
  const named = titles(collections);
  const chosen = new Set(collections.slice(0, 4).map((c) => c.name));
  const chart = lines({
    label: 'Relevant pages found against pages fetched, by collection',
    x: 'pages fetched',
    y: 'relevant pages',
    none: 'no page was fetched yet',
  });
  const body = h('tbody');
  const row = (c) =>
    h(
      'tr',
      {},
      h(
        'td',
        { class: 'wrap' },
        h('a', { class: 'title', href: link(c.name, 'overview') }, named.get(c.name) ?? c.title),
      ),
      h('td', {}, c.strategy),
      cell(count(c.pages)),
      cell(count(c.relevant)),
      cell(percent(c.harvest)),
      cell(percent(c.recall, 0)),
      h('td', { class: 'n wide-only' }, fixed(c.threshold)),
    );
  async function draw() {
    const asked = [...chosen].map((name) => get(of(name)).catch(() => null));
    const list = (await Promise.all(asked)).filter(Boolean);
    // A crawl keeps its colour, whatever else is chosen.
    const place = (c) => collections.findIndex((other) => other.name === c.name);
    chart.update(
      list.map((c) => ({ name: named.get(c.name) ?? c.title, points: c.curve, colour: place(c) })),
    );
    show(body, list.map(row));
  }
  const pick = (c) => {
    const change = (e) => {
      if (e.target.checked) chosen.add(c.name);
      else chosen.delete(c.name);
      draw();
    };
    const box = h('input', { type: 'checkbox', on: { change } });
    box.checked = chosen.has(c.name);
    return h('label', { class: 'chip' }, box, named.get(c.name));
  };
  queueMicrotask(draw);
  const columns = [
    ['Collection', ''],
    ['Strategy', ''],
    ['Pages', 'n'],
    ['Relevant', 'n'],
    ['Harvest', 'n'],
    ['Recall (est.)', 'n'],
    ['Threshold', 'n wide-only'],
  ];
  return [
    h('div', { class: 'chips', style: { marginBottom: '.8rem' } }, collections.map(pick)),
    chart.el,
    table(columns, body),
  ];
}

/** One backtest: recall of its best strategies, topic by topic. */
function backtest(b) {
  const topics = [...new Set(b.curves.map((c) => c.topic))];
  const recall = lines({
    label: 'Recall against pages fetched, by strategy',
    x: 'pages fetched',
    y: 'recall',
    top: 1,
    unit: 'percent',
  });
  const rows = h('tbody');
  const draws = h('p', { class: 'soft small' });
  const row = (s) =>
    h(
      'tr',
      {},
      h('td', {}, s.strategy),
      cell(fixed(s.auc, 3)),
      cell(s.low === null || s.low === s.high ? '–' : `${fixed(s.low, 3)} – ${fixed(s.high, 3)}`),
      cell(fixed(s.normalised, 3)),
      cell(percent(s.harvest)),
      cell(s.runs),
    );
  const draw = (topic) => {
    const list = b.summary.filter((s) => s.topic === topic).sort((x, y) => (y.auc ?? 0) - (x.auc ?? 0));
    const curve = (s) => b.curves.find((c) => c.topic === topic && c.strategy === s.strategy);
    const best = list.slice(0, BEST).map(curve).filter(Boolean);
    recall.update(best.map((c) => ({ name: c.strategy, points: [[0, 0], ...c.recall] })));
    const once = list.every((s) => s.runs === 1);
    draws.textContent = [
      list.length > BEST && `The ${BEST} best are drawn.`,
      once && 'One draw: add `--rng 0..4` to tell a difference from chance.',
    ]
      .filter(Boolean)
      .join(' ');
    show(rows, list.map(row));
  };
  const change = (e) => draw(e.target.value);
  const select = h(
    'select',
    { on: { change } },
    topics.map((t) => h('option', { value: t }, t)),
  );
  const columns = [
    ['Strategy', ''],
    ['Area under recall', 'n'],
    ['95 %', 'n'],
    ['Normalised', 'n'],
    ['Harvest', 'n'],
    ['Runs', 'n'],
  ];
  if (topics.length) queueMicrotask(() => draw(topics[0]));
  return [
    h(
      'div',
      { class: 'filters' },
      h('label', { class: 'field' }, 'Topic', select),
      h('span', { class: 'soft wrap' }, b.web),
    ),
    recall.el,
    draws,
    table(columns, rows),
  ];
}

export default async function compare({ link }) {
  const [{ collections }, { backtests }] = await Promise.all([get('/collections'), get('/backtests')]);
  const tests = h('div', {});
  async function choose(name) {
    try {
      show(tests, backtest(await get('/backtests/' + encodeURIComponent(name))));
    } catch (e) {
      show(tests, failure(e));
    }
  }
  const change = (e) => choose(e.target.value);
  const pick = h(
    'select',
    { on: { change } },
    backtests.map((b) => h('option', { value: b }, b)),
  );
  if (backtests.length) choose(backtests[0]);
  const card = (title, ...content) =>
    h('section', { class: 'card s12 tall' }, h('h2', {}, title), ...content);
  return h(
    'div',
    {},
    h('div', { class: 'head' }, h('h1', {}, 'Compare')),
    h(
      'div',
      { class: 'grid' },
      card('Crawls', collections.length ? crawls(collections, link) : empty('No collections to compare')),
      card(
        'Backtests',
        backtests.length
          ? [h('div', { class: 'filters' }, h('label', { class: 'field' }, 'Results', pick)), tests]
          : empty(
              'No backtest results here',
              '`gleaner backtest … --out DIR` writes a results.json; put that folder beside the collections.',
            ),
      ),
    ),
  );
}
