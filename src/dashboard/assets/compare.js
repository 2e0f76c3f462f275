// Crawls and backtests side by side.

import { h, show, count, percent, fixed, empty, failure } from './dom.js';
import { get, of } from './api.js';
import { lines } from './chart.js';

/** Most strategies in one chart. */
const BEST = 6;

/** A table that is filled later. Columns are [name, class, what of a row]. */
function table(columns) {
  const body = h('tbody');
  const heads = columns.map(([name, kind]) => h('th', { class: kind, scope: 'col' }, name));
  const row = (item) => h('tr', {}, columns.map(([name, kind, of], i) =>
    h('td', { class: kind, 'data-name': i ? name : null }, of(item))));
  return {
    el: h('div', { class: 'scroll rows' }, h('table', {}, h('thead', {}, h('tr', {}, heads)), body)),
    fill: (items) => show(body, items.map(row)),
  };
}

/** Each collection by its title; those with the same title by their folder as well. */
function titles(collections) {
  const same = (c) => collections.filter((other) => other.title === c.title).length > 1;
  return new Map(collections.map((c) => [c.name, same(c) ? `${c.title} (${c.name})` : c.title]));
}

/** Chosen crawls in one chart. */
function crawls(collections, link) {
  const named = titles(collections);
  const chosen = new Set(collections.slice(0, 4).map((c) => c.name));
  const chart = lines({
    label: 'Relevant pages found against pages fetched, by collection',
    x: 'pages fetched', y: 'relevant pages', none: 'no page was fetched yet',
  });
  const titled = (c) => h('a', { class: 'title', href: link(c.name, 'overview') }, named.get(c.name));
  const numbers = table([
    ['Collection', 'wrap', titled],
    ['Strategy', '', (c) => c.strategy],
    ['Pages', 'n', (c) => count(c.pages)],
    ['Relevant', 'n', (c) => count(c.relevant)],
    ['Harvest', 'n', (c) => percent(c.harvest)],
    ['Recall (est.)', 'n', (c) => percent(c.recall, 0)],
    ['Threshold', 'n wide-only', (c) => fixed(c.threshold)],
  ]);
  async function draw() {
    const asked = [...chosen].map((name) => get(of(name)).catch(() => null));
    const list = (await Promise.all(asked)).filter(Boolean);
    // A crawl keeps its colour, whatever else is chosen.
    const colour = (c) => collections.findIndex((other) => other.name === c.name);
    chart.update(list.map((c) => ({ name: named.get(c.name), points: c.curve, colour: colour(c) })));
    numbers.fill(list);
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
  const picks = h('div', { class: 'chips', style: { marginBottom: '.8rem' } }, collections.map(pick));
  return [picks, chart.el, numbers.el];
}

/** Recall of the best strategies of a backtest, topic by topic. */
function backtests(names) {
  const chart = lines({
    label: 'Recall against pages fetched, by strategy',
    x: 'pages fetched', y: 'recall', top: 1, unit: 'percent',
  });
  const known = (s) => s.low !== null && s.low !== s.high;
  const between = (s) => (known(s) ? `${fixed(s.low, 3)} – ${fixed(s.high, 3)}` : '–');
  const numbers = table([
    ['Strategy', '', (s) => s.strategy],
    ['Area under recall', 'n', (s) => fixed(s.auc, 3)],
    ['95 %', 'n', between],
    ['Normalised', 'n', (s) => fixed(s.normalised, 3)],
    ['Harvest', 'n', (s) => percent(s.harvest)],
    ['Runs', 'n', (s) => s.runs],
  ]);
  const note = h('p', { class: 'soft small' });
  const web = h('span', { class: 'soft wrap' });
  let results = { summary: [], curves: [] };
  function draw() {
    const mine = results.summary.filter((s) => s.topic === topic.value);
    const list = mine.sort((x, y) => (y.auc ?? 0) - (x.auc ?? 0));
    const curve = (s) => results.curves.find((c) => c.topic === topic.value && c.strategy === s.strategy);
    const best = list.slice(0, BEST).map(curve).filter(Boolean);
    chart.update(best.map((c) => ({ name: c.strategy, points: [[0, 0], ...c.recall] })));
    numbers.fill(list);
    note.textContent = [
      list.length > BEST && `The ${BEST} best are drawn.`,
      list.every((s) => s.runs === 1) && 'One draw: add `--rng 0..4` to tell a difference from chance.',
    ].filter(Boolean).join(' ');
  }
  const topic = h('select', { on: { change: draw } });
  const shown = h('div', {}, chart.el, note, numbers.el);
  const failed = h('div', {});
  async function choose() {
    try {
      results = await get('/backtests/' + encodeURIComponent(which.value));
      const topics = [...new Set(results.curves.map((c) => c.topic))];
      show(topic, topics.map((t) => h('option', { value: t }, t)));
      web.textContent = results.web;
      show(failed);
      draw();
    } catch (e) {
      show(failed, failure(e));
    }
    shown.hidden = failed.hasChildNodes();
  }
  const which = h('select', { on: { change: choose } }, names.map((b) => h('option', { value: b }, b)));
  queueMicrotask(choose);
  const field = (name, el) => h('label', { class: 'field' }, name, el);
  return [h('div', { class: 'filters' }, field('Results', which), field('Topic', topic), web), failed, shown];
}

export default async function compare({ link }) {
  const [{ collections }, tried] = await Promise.all([get('/collections'), get('/backtests')]);
  const card = (title, content) => h('section', { class: 'card s12 tall' }, h('h2', {}, title), content);
  const none = empty('No backtest results here',
    '`gleaner backtest … --out DIR` writes a results.json; put that folder beside the collections.');
  return h('div', {},
    h('div', { class: 'head' }, h('h1', {}, 'Compare')),
    h('div', { class: 'grid' },
      card('Crawls', collections.length ? crawls(collections, link) : empty('No collections to compare')),
      card('Backtests', tried.backtests.length ? backtests(tried.backtests) : none)));
}
