// Is the crawl going well? Curves, numbers and what holds it up, live.

import { h, show, count, percent, fixed, bytes, span, badge, bars, meter, empty } from './dom.js';
import { get, follow, of } from './api.js';
import { lines, histogram } from './chart.js';
import { controls } from './control.js';

/** Harvest rate over a moving tenth of the crawl. */
function rate(curve) {
  const window = Math.max(1, Math.floor(curve.length / 10));
  return curve.map(([n, r], i) => {
    const [n0, r0] = i >= window ? curve[i - window] : [0, 0];
    return [n, n > n0 ? Math.max(0, Math.min(1, (r - r0) / (n - n0))) : 0];
  });
}

export default async function overview({ collection, link, onLeave }) {
  const first = await get(of(collection));
  let data = first;
  const kpi = (name, good) => {
    const b = h('b', {}, '–');
    const small = h('small', {}, '');
    return { el: h('div', { class: 'kpi' + (good ? ' good' : '') }, b, h('span', {}, name), small), set(value, more = '') { b.textContent = value; small.textContent = more; } };
  };
  const k = { relevant: kpi('relevant pages', true), pages: kpi('pages fetched'), harvest: kpi('harvest rate'), recall: kpi('recall (estimate)'), rate: kpi('pages per second'), pending: kpi('URLs pending') };
  const state = h('span', { id: 'state' });
  const idle = h('p', { class: 'soft small', id: 'idle' });
  const wrong = h('pre', { class: 'alert bad wrap', hidden: true });
  const line = h('p', { class: 'alert', hidden: true }, 'The live connection broke; trying again…');
  const found = lines({ label: 'Relevant pages found against pages fetched', x: 'pages fetched' });
  const harvest = lines({ label: 'Harvest rate: share of relevant pages among those just fetched', x: 'pages fetched', top: 1, format: (x) => Math.round(100 * x) + ' %' });
  const recall = lines({ label: 'Estimated recall: found, of all the relevant pages that can be reached', x: 'pages fetched', top: 1, format: (x) => Math.round(100 * x) + ' %' });
  const queue = histogram({ label: 'Pending URLs by priority', x: 'priority' });
  const hostBar = h('div', { class: 'stack', role: 'img' });
  const hostLegend = h('div', { class: 'leg' });
  const budget = h('div', {});
  const feed = h('ul', { class: 'feed', 'aria-label': 'Newest pages' });
  const errors = h('div', {});
  const refused = h('div', {});
  const disk = h('div', {});
  const workers = h('div', { id: 'workers' });
  const asked = h('ul', { class: 'feed', id: 'asked', 'aria-label': 'What was asked of the workers' });
  const panel = controls({ collection, get: () => data, refresh: () => reload() });

  function live(p) {
    data = { ...data, ...p };
    const curve = data.curve;
    const last = curve.at(-1);
    if (p.pages && (!last || p.pages > last[0])) curve.push([p.pages, p.relevant]);
    show(state, badge(p.state));
    idle.textContent = p.idle ?? '';
    wrong.textContent = p.problem ?? '';
    wrong.hidden = !p.problem;
    k.relevant.set(count(p.relevant), p.labelled ? `${count(p.labelled)} labelled` : '');
    k.pages.set(count(p.pages), p.elapsed_ms ? 'in ' + span(p.elapsed_ms) : '');
    k.harvest.set(percent(p.harvest), 'last 100: ' + percent(p.recent_harvest, 0));
    k.recall.set(p.recall === null ? '–' : percent(p.recall, 0), p.recall === null ? 'too early to tell' : p.expected ? `${percent(p.recall_low, 0)} to ${percent(p.recall_high, 0)}, about ${count(Math.round(p.expected))} more to find` : 'all that can be reached was fetched');
    k.rate.set(fixed(p.rate, 1), p.eta_ms !== null ? span(p.eta_ms) + ' to go' : '');
    k.pending.set(count(p.pending), 'threshold ' + fixed(p.threshold));
    const total = p.expected === null ? null : p.relevant + p.expected;
    const series = [{ name: 'relevant', points: curve, area: true }];
    if (total && curve.length) series.push({ name: 'estimated total', points: [[0, total], [curve.at(-1)[0], total]], dash: true });
    found.update(series);
    harvest.update([{ name: 'harvest rate', points: rate(curve) }]);
    recall.update(total ? [{ name: 'recall', points: curve.map(([n, r]) => [n, Math.min(1, r / total)]), area: true }] : []);
    const parts = [['active', 'b-leaf'], ['waiting', 'b-wheat'], ['blocked', 'b-rust'], ['idle', 'b-soft']];
    const all = parts.reduce((n, [name]) => n + p.hosts[name], 0) || 1;
    show(hostBar, parts.map(([name, c]) => h('i', { class: c, style: { width: (100 * p.hosts[name]) / all + '%' } })));
    hostBar.setAttribute('aria-label', 'Hosts: ' + parts.map(([name]) => `${p.hosts[name]} ${name}`).join(', '));
    show(hostLegend, parts.map(([name, c]) => h('span', {}, h('i', { class: c }), `${count(p.hosts[name])} ${name}`)));
    const limit = (name, now, most, text) => most && h('div', { style: { marginBottom: '.6rem' } }, h('div', { class: 'row small' }, h('span', {}, name), h('span', { class: 'spread soft' }), h('span', { class: 'num' }, text)), meter(now / most, 'leaf'));
    const b = p.budget;
    show(budget,
      limit('pages', p.pages, b.pages, `${count(p.pages)} of ${count(b.pages)}`),
      limit('relevant pages', p.relevant, b.relevant, `${count(p.relevant)} of ${count(b.relevant)}`),
      limit('time', p.elapsed_ms, b.time_ms, `${span(p.elapsed_ms)} of ${span(b.time_ms)}`),
      !b.pages && !b.relevant && !b.time_ms && h('p', { class: 'soft small' }, 'No limit is set in the topic: it runs until nothing is left, or until it is stopped.'));
    show(feed, p.newest.length ? p.newest.slice(0, 6).map((n) => h('li', {}, h('span', { class: 'num' }, fixed(n.score)), h('div', { class: 'wrap' }, h('a', { class: 'title', href: link(collection, 'pages/' + n.id) }, n.title || '(no title)'), h('span', { class: 'url' }, n.url)))) : h('li', { class: 'soft' }, 'No page yet.'));
    panel.update(data);
  }

  function slow(d) {
    queue.update(d.frontier.filter((b) => b.from !== null).map((b) => ({ from: b.from, to: b.to, count: b.urls })));
    show(errors, d.errors.length ? bars(d.errors.slice(0, 8), 'rust') : h('p', { class: 'soft small' }, 'None so far.'));
    show(refused, d.refused.length ? bars(d.refused.slice(0, 8)) : h('p', { class: 'soft small' }, 'Every link was taken.'));
    show(workers, d.workers.length ? bars(d.workers.map((w) => ({ name: w.name, count: w.pages }))) : h('p', { class: 'soft small' }, 'No worker is running.'));
    show(asked, d.commands.length ? d.commands.map((c) => h('li', {}, h('span', { class: 'num' }, `${c.applied}/${c.of}`), h('div', { class: 'wrap' }, h('span', { class: 'title' }, c.what), h('span', { class: 'url' }, `${new Date(c.given).toLocaleString()} · ${c.who}`), c.failure && h('span', { class: 'url' }, `some could not: ${c.failure}`)))) : h('li', { class: 'soft' }, 'Nothing so far.'));
    const total = d.disk.ledger + d.disk.archive + d.disk.index;
    show(disk, bars([{ name: 'archive', count: d.disk.archive }, { name: 'ledger', count: d.disk.ledger }, { name: 'index', count: d.disk.index }]));
    for (const [i, n] of [d.disk.archive, d.disk.ledger, d.disk.index].entries()) disk.querySelectorAll('.num')[i].textContent = bytes(n);
    disk.append(h('p', { class: 'soft small' }, bytes(total) + ' in all'));
  }

  async function reload() {
    data = await get(of(collection));
    slow(data);
    live(data);
  }
  slow(first);
  onLeave(follow(of(collection, '/live'), live, (up) => { line.hidden = up; }));
  const timer = setInterval(() => reload().catch(() => {}), 5000);
  onLeave(() => clearInterval(timer));
  queueMicrotask(() => live(first));

  const card = (size, title, ...content) => h('section', { class: `card ${size}` }, h('h2', {}, title), ...content);
  return h('div', {},
    line, wrong,
    first.damage && h('p', { class: 'alert bad' }, first.damage),
    h('div', { class: 'head' },
      h('div', {}, h('p', { class: 'crumb wrap' }, `${collection} · strategy ${first.strategy} · judge ${first.judge}`), h('div', { class: 'row' }, h('h1', { class: 'wrap' }, first.title), state)),
      h('span', { class: 'spread' }), panel.el),
    idle,
    h('section', { class: 'card kpis', 'aria-label': 'Numbers' }, Object.values(k).map((x) => x.el)),
    first.pages === 0 && first.state === 'stopped' ? empty('Nothing was fetched yet', 'Start the crawl, or add seeds.') : null,
    h('div', { class: 'grid' },
      card('s8 tall', 'Relevant pages found', found.el),
      card('s4', 'Newest pages', feed),
      card('s6', 'Harvest rate', harvest.el),
      card('s6', 'Recall, estimated', recall.el, h('p', { class: 'soft small' }, 'Found, of what can be reached: how fast the harvest falls tells how much is left. Nothing is shown before it falls.')),
      card('s6', 'Frontier by priority', queue.el),
      card('s6', 'Hosts', hostBar, hostLegend, h('h2', { style: { margin: '1.2rem 0 .5rem' } }, 'Budget'), budget),
      card('s4', 'Errors', errors),
      card('s4', 'Links not taken', refused),
      card('s4', 'On disk', disk),
      first.shared && card('s4', 'Workers (pages)', workers),
      first.shared && card('s8', 'Asked of the workers (how many have done it)', asked)));
}
