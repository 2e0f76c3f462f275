// Crawls and backtests side by side.

import { h, show, count, percent, fixed, empty, failure } from './dom.js';
import { get, of } from './api.js';
import { lines } from './chart.js';

export default async function compare() {
  const [{ collections }, { backtests }] = await Promise.all([get('/collections'), get('/backtests')]);
  const chosen = new Set(collections.slice(0, 4).map((c) => c.name));
  const chart = lines({ label: 'Relevant pages found against pages fetched, by collection', x: 'pages fetched' });
  const body = h('tbody');
  async function crawls() {
    const list = (await Promise.all([...chosen].map((name) => get(of(name)).catch(() => null)))).filter(Boolean);
    chart.update(list.map((c) => ({ name: c.name, points: c.curve })));
    show(body, list.map((c) => h('tr', {}, h('td', { class: 'wrap' }, c.title), h('td', {}, c.strategy), h('td', { class: 'n' }, count(c.pages)), h('td', { class: 'n' }, count(c.relevant)), h('td', { class: 'n' }, percent(c.harvest)), h('td', { class: 'n' }, percent(c.recall, 0)), h('td', { class: 'n wide-only' }, fixed(c.threshold)))));
  }
  const picks = collections.map((c) => {
    const box = h('input', { type: 'checkbox', on: { change: (e) => { if (e.target.checked) chosen.add(c.name); else chosen.delete(c.name); crawls(); } } });
    box.checked = chosen.has(c.name);
    return h('label', { class: 'chip' }, box, c.name);
  });

  const tests = h('div', {});
  async function backtest(name) {
    try {
      const b = await get('/backtests/' + encodeURIComponent(name));
      const topics = [...new Set(b.curves.map((c) => c.topic))];
      const recall = lines({ label: 'Recall against pages fetched', x: 'pages fetched', top: 1, format: (x) => Math.round(100 * x) + ' %' });
      const rows = h('tbody');
      const draw = (topic) => {
        const list = b.summary.filter((s) => s.topic === topic).sort((x, y) => (y.auc ?? 0) - (x.auc ?? 0));
        const best = list.slice(0, 6).map((s) => s.strategy);
        recall.update(best.map((s) => b.curves.find((c) => c.topic === topic && c.strategy === s)).filter(Boolean).map((c) => ({ name: c.strategy, points: [[0, 0], ...c.recall] })));
        show(rows, list.map((s) => h('tr', {}, h('td', {}, s.strategy), h('td', { class: 'n' }, fixed(s.auc, 3)), h('td', { class: 'n' }, s.low === null ? '–' : `${fixed(s.low, 3)} – ${fixed(s.high, 3)}`), h('td', { class: 'n' }, fixed(s.normalised, 3)), h('td', { class: 'n' }, percent(s.harvest)), h('td', { class: 'n' }, s.runs))));
      };
      const select = h('select', { on: { change: (e) => draw(e.target.value) } }, topics.map((t) => h('option', { value: t }, t)));
      show(tests,
        h('div', { class: 'filters' }, h('label', { class: 'field' }, 'Topic', select), h('span', { class: 'soft wrap' }, b.web)),
        recall.el,
        h('div', { class: 'scroll' }, h('table', {}, h('thead', {}, h('tr', {}, ['Strategy', 'Area under recall', '95 %', 'Normalised', 'Harvest', 'Runs'].map((t, i) => h('th', { class: i ? 'n' : '', scope: 'col' }, t)))), rows)));
      if (topics.length) draw(topics[0]);
    } catch (e) {
      show(tests, failure(e));
    }
  }
  const pick = h('select', { on: { change: (e) => backtest(e.target.value) } }, backtests.map((b) => h('option', { value: b }, b)));
  queueMicrotask(() => { crawls(); if (backtests.length) backtest(backtests[0]); });
  return h('div', {},
    h('div', { class: 'head' }, h('h1', {}, 'Compare')),
    h('div', { class: 'grid' },
      h('section', { class: 'card s12' }, h('h2', {}, 'Crawls'),
        collections.length ? [h('div', { class: 'chips', style: { marginBottom: '.8rem' } }, picks), chart.el, h('div', { class: 'scroll' }, h('table', {}, h('thead', {}, h('tr', {}, ['Collection', 'Strategy', 'Pages', 'Relevant', 'Harvest', 'Recall (est.)', 'Threshold'].map((t, i) => h('th', { class: (i > 1 ? 'n' : '') + (i === 6 ? ' wide-only' : ''), scope: 'col' }, t)))), body))] : empty('No collections to compare')),
      h('section', { class: 'card s12' }, h('h2', {}, 'Backtests'),
        backtests.length ? [h('div', { class: 'filters' }, h('label', { class: 'field' }, 'Results', pick)), tests] : empty('No backtest results here', '`gleaner backtest … --out DIR` writes a results.json; put that folder beside the collections.'))));
}
