// Is the crawl going well? What it found, then curves, numbers and what holds it up, live.

import { h, show, count, percent, fixed, bytes, span, when, badge, bars, meter, empty } from './dom.js';
import { get, follow, query, of } from './api.js';
import { lines, histogram } from './chart.js';
import { controls } from './control.js';
import { exportDialog } from './exports.js';

/** Harvest rate over a moving tenth of the crawl. */
function rate(curve) {
  const window = Math.max(1, Math.floor(curve.length / 10));
  return curve.map(([n, r], i) => {
    const [n0, r0] = i >= window ? curve[i - window] : [0, 0];
    return [n, n > n0 ? Math.max(0, Math.min(1, (r - r0) / (n - n0))) : 0];
  });
}

const whole = (x) => Math.round(100 * x) + ' %';

function kpi(name, good) {
  const b = h('b', {}, '–');
  const small = h('small', {}, '\u00a0');
  const el = h('div', { class: 'kpi' + (good ? ' good' : '') }, b, h('span', {}, name), small);
  return { el, set(value, more) { b.textContent = value; small.textContent = more || '\u00a0'; } };
}

const recallNote = (p) => {
  if (p.recall === null) return 'too early to tell';
  if (!p.expected) return 'all that can be reached was fetched';
  return `${percent(p.recall_low, 0)} to ${percent(p.recall_high, 0)}, about ${count(Math.round(p.expected))} more to find`;
};

export default async function overview({ collection, link, onLeave }) {
  const first = await get(of(collection));
  let data = first;
  const k = {
    relevant: kpi('relevant pages', true), pages: kpi('pages fetched'), harvest: kpi('harvest rate'),
    recall: kpi('recall (estimate)'), rate: kpi('pages per second'), pending: kpi('URLs pending'),
  };
  const state = h('span', { id: 'state' });
  const idle = h('p', { class: 'soft small', id: 'idle' });
  const wrong = h('pre', { class: 'alert bad wrap', hidden: true });
  const line = h('p', { class: 'alert', hidden: true }, 'The live connection broke; trying again…');
  const newest = h('ul', { class: 'feed', id: 'latest', 'aria-label': 'Latest finds' });
  const best = h('ul', { class: 'feed', id: 'best', 'aria-label': 'Best finds' });
  const all = h('a', { href: link(collection, 'pages') }, 'All of them');
  const found = lines({ label: 'Relevant pages found against pages fetched', x: 'pages fetched', y: 'relevant pages', whole: true });
  const harvest = lines({ label: 'Harvest rate: share of relevant pages among those just fetched', x: 'pages fetched', y: 'harvest rate', format: whole });
  const recall = lines({ label: 'Estimated recall: found, of all the relevant pages that can be reached', x: 'pages fetched', y: 'recall', top: 1, format: whole });
  const queue = histogram({ label: 'Pending URLs by priority', x: 'priority', y: 'URLs' });
  const hostBar = h('div', { class: 'stack', role: 'img' });
  const hostLegend = h('div', { class: 'leg' });
  const hosts = h('div', { id: 'best-hosts', class: 'gaps' });
  const early = h('p', { class: 'soft' }, 'Too early to tell: nothing is shown before the harvest falls.');
  const budget = h('div', {});
  const settings = h('tbody', { id: 'in-force' });
  const errors = h('div', { id: 'errors' });
  const refused = h('div', {});
  const disk = h('div', {});
  const time = h('section', { class: 'card s4', id: 'timings', hidden: true });
  const workers = h('div', { id: 'workers' });
  const asked = h('ul', { class: 'feed', id: 'asked', 'aria-label': 'What was asked of the workers' });
  const panel = controls({ collection, get: () => data, refresh: () => reload() });

  const finds = (list) => (list.length
    ? list.slice(0, 6).map((n) => h('li', {}, h('span', { class: 'num' }, fixed(n.score)),
      h('div', { class: 'wrap' }, h('a', { class: 'title', href: link(collection, 'pages/' + n.id) }, n.title || '(no title)'), h('span', { class: 'url' }, n.url))))
    : h('li', { class: 'soft' }, data.pages ? 'No relevant page yet.' : 'No page yet.'));

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
    k.recall.set(p.recall === null ? '–' : percent(p.recall, 0), recallNote(p));
    k.rate.set(p.state === 'stopped' ? '–' : fixed(p.rate, 1), p.eta_ms !== null ? span(p.eta_ms) + ' to go' : '');
    k.pending.set(count(p.pending), 'threshold ' + fixed(p.threshold));
    all.textContent = p.relevant ? `All ${count(p.relevant)} relevant pages` : 'All pages';
    show(newest, finds(p.found));
    const total = p.expected === null ? null : p.relevant + p.expected;
    const series = [{ name: 'relevant', points: curve, area: true }];
    if (total && curve.length) series.push({ name: 'estimated total', points: [[0, total], [curve.at(-1)[0], total]], dash: true });
    found.update(series);
    harvest.update([{ name: 'harvest rate', points: rate(curve) }]);
    early.hidden = Boolean(total);
    recall.el.hidden = !total;
    recall.update(total ? [{ name: 'recall', points: curve.map(([n, r]) => [n, Math.min(1, r / total)]), area: true }] : []);
    const parts = [['active', 'b-leaf'], ['waiting', 'b-wheat'], ['blocked', 'b-rust'], ['idle', 'b-soft']];
    const known = parts.reduce((n, [name]) => n + p.hosts[name], 0) || 1;
    show(hostBar, parts.map(([name, c]) => h('i', { class: c, style: { width: (100 * p.hosts[name]) / known + '%' } })));
    hostBar.setAttribute('aria-label', 'Hosts: ' + parts.map(([name]) => `${p.hosts[name]} ${name}`).join(', '));
    show(hostLegend, parts.map(([name, c]) => h('span', {}, h('i', { class: c }), `${count(p.hosts[name])} ${name}`)));
    const limit = (name, now, most, text) => most && h('div', { class: 'limit' },
      h('div', { class: 'row small' }, h('span', {}, name), h('span', { class: 'spread soft' }), h('span', { class: 'num' }, text)), meter(now / most, 'leaf'));
    const b = p.budget;
    show(budget,
      limit('pages', p.pages, b.pages, `${count(p.pages)} of ${count(b.pages)}`),
      limit('relevant pages', p.relevant, b.relevant, `${count(p.relevant)} of ${count(b.relevant)}`),
      limit('time', p.elapsed_ms, b.time_ms, `${span(p.elapsed_ms)} of ${span(b.time_ms)}`),
      !b.pages && !b.relevant && !b.time_ms && h('p', { class: 'soft small' }, 'No limit is set: it runs until nothing is left, or until it is stopped.'));
    panel.update(data);
  }

  function slow(d) {
    show(best, finds(d.best));
    show(settings, d.settings.map((s) => h('tr', {}, h('th', { scope: 'row' }, s.name), h('td', {}, s.value), h('td', { class: 'soft small' }, s.from))));
    queue.update(d.frontier.filter((b) => b.from !== null).map((b) => ({ from: b.from, to: b.to, count: b.urls })));
    const list = (kind) => link(collection, 'errors', query({ kind }));
    const failed = d.outcomes.filter((o) => !['fetched', 'redirected', 'sitemap'].includes(o.name));
    const tries = d.errors.map((e) => `${e.name} ${count(e.count)}`).join(', ');
    show(errors,
      failed.length ? bars(failed.map((o) => ({ ...o, href: list(o.name) })), 'rust') : h('p', { class: 'soft small' }, 'Every URL gave a page so far.'),
      tries && h('p', { class: 'soft small' }, `Requests that failed, further tries included: ${tries}`));
    show(refused, d.refused.length ? bars(d.refused.slice(0, 8)) : h('p', { class: 'soft small' }, 'None so far.'));
    show(workers, d.workers.length ? bars(d.workers.map((w) => ({ name: w.name + (w.idle ? ' (idle)' : ''), count: w.pages }))) : h('p', { class: 'soft small' }, 'No worker is running.'));
    show(asked, d.commands.length
      ? d.commands.map((c) => h('li', {}, h('span', { class: 'num' }, `${c.applied}/${c.of}`),
        h('div', { class: 'wrap' }, h('span', { class: 'title' }, c.what), h('span', { class: 'url' }, `${when(c.given)} · ${c.who}`), c.failure && h('span', { class: 'url' }, `some could not: ${c.failure}`))))
      : h('li', { class: 'soft' }, 'Nothing so far.'));
    const of = { loop: '', readers: ' (side by side)', network: ' (side by side, idle)' };
    time.hidden = !d.timings.length;
    show(time, h('h2', {}, 'Where the time goes'),
      bars(d.timings.map((t) => ({ name: t.stage + of[t.on], count: t.ms, text: span(t.ms) }))));
    const parts = [['archive', d.disk.archive], ['ledger', d.disk.ledger], ['index', d.disk.index]];
    show(disk, bars(parts.map(([name, n]) => ({ name, count: n, text: bytes(n) }))),
      h('p', { class: 'soft small' }, bytes(parts.reduce((sum, [, n]) => sum + n, 0)) + ' in all'));
  }

  /** The hosts that gave most; each opens its pages. */
  async function gave() {
    const got = await get(of(collection, '/hosts') + query({ limit: 5 }));
    const list = got.hosts.filter((x) => x.relevant);
    show(hosts, list.length > 0 && bars(list.map((x) => ({
      name: x.host, count: x.relevant, text: `${count(x.relevant)} of ${count(x.pages)}`,
      href: link(collection, 'pages', query({ host: x.host, relevant: 'true' })),
    })), 'leaf'));
  }

  async function reload() {
    data = await get(of(collection));
    slow(data);
    gave().catch(() => {});
    live(data);
  }
  slow(first);
  gave().catch(() => {});
  onLeave(follow(of(collection, '/live'), live, (up) => { line.hidden = up; }));
  const timer = setInterval(() => reload().catch(() => {}), 5000);
  onLeave(() => clearInterval(timer));
  queueMicrotask(() => live(first));

  const card = (size, title, ...content) => h('section', { class: `card ${size}` }, h('h2', {}, title), ...content);
  return h('div', {},
    line, wrong,
    first.damage && h('p', { class: 'alert bad' }, first.damage),
    h('div', { class: 'head' },
      h('div', {}, h('p', { class: 'crumb wrap' }, h('a', { href: '#/' }, 'Collections'), ` / ${collection}`),
        h('div', { class: 'row' }, h('h1', { class: 'wrap' }, first.title), state)),
      h('span', { class: 'spread' }), panel.el),
    panel.banner,
    idle,
    h('section', { class: 'card kpis', 'aria-label': 'Numbers' }, Object.values(k).map((x) => x.el)),
    first.pages === 0 && first.state === 'stopped' ? empty('Nothing was fetched yet', 'Start the crawl, or add seeds.') : null,
    h('div', { class: 'grid' },
      card('s6', 'Latest finds', newest),
      h('section', { class: 'card s6' }, h('h2', {}, 'Best finds'), best,
        h('p', { class: 'row' }, all, h('span', { class: 'spread' }),
          h('a', { class: 'button', href: link(collection, 'search') }, 'Search'),
          h('button', { id: 'do-export', on: { click: () => exportDialog(collection) } }, 'Export…'))),
      card('s8 tall', 'Relevant pages found', found.el),
      card('s4', 'Limits and settings', budget, h('table', { class: 'facts' }, settings)),
      card('s6', 'Harvest rate', harvest.el),
      card('s6', 'Recall, estimated', recall.el, early,
        h('p', { class: 'soft small' }, 'Found, of what can be reached: how fast the harvest falls tells how much is left.')),
      card('s6', 'Frontier by priority', queue.el, h('p', { class: 'small' }, h('a', { href: link(collection, 'frontier') }, 'What comes next, and why'))),
      card('s6', 'Hosts', hostBar, hostLegend, hosts, h('p', { class: 'small' }, h('a', { href: link(collection, 'hosts') }, 'Every host, and what was learnt of it'))),
      card('s4', 'URLs without a page', errors),
      card('s4', 'Links not taken', refused),
      card('s4', 'On disk', disk),
      time,
      first.shared && card('s4', 'Workers (pages)', workers),
      first.shared && card('s8', 'Asked of the workers (how many have done it)', asked)));
}
