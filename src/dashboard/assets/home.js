// Every collection under the folder.

import { h, svg, count, percent, badge, empty, when } from './dom.js';
import { get } from './api.js';

/** How the finds grew, without axes. */
function spark(points, label) {
  const [width, height] = [240, 44];
  const most = Math.max(1, ...points.map((p) => p[1]));
  const last = points.at(-1)?.[0] || 1;
  const at = ([n, r]) => `${((width * n) / last).toFixed(1)} ${(height - 2 - ((height - 4) * r) / most).toFixed(1)}`;
  const line = points.map((p, i) => (i ? 'L' : 'M') + at(p)).join('');
  return svg('svg', { class: 'spark', viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
    svg('path', { class: 'fill', d: line + `L${width} ${height}L0 ${height}Z` }), svg('path', { d: line }));
}

export default async function home({ link }) {
  const { collections } = await get('/collections');
  const how = (c) => (c.running ? badge('running') : c.stopped ? badge(c.stopped, 'no') : null);
  const card = (c) =>
    h('a', { class: 'card', href: link(c.name, 'overview') },
      h('h2', { class: 'wrap' }, c.title),
      h('p', { class: 'soft small wrap' }, c.name, c.fetched ? ` · last page ${when(c.fetched)}` : ''),
      c.trend.length > 1 && spark(c.trend, `${c.relevant} relevant of ${c.pages} pages`),
      c.problem ? h('p', { class: 'alert bad' }, c.problem)
        : h('p', {}, h('b', {}, count(c.relevant)), ' relevant of ', count(c.pages), ' pages', c.pages ? ` (${percent(c.relevant / c.pages)})` : ''),
      h('p', { class: 'row small soft' }, how(c), `${count(c.pending)} URLs pending`));
  const newest = [...collections].sort((a, b) => b.running - a.running || (b.fetched ?? 0) - (a.fetched ?? 0));
  return h('div', {},
    h('div', { class: 'head' }, h('h1', {}, 'Collections'), h('span', { class: 'spread' }),
      h('a', { class: 'button primary', href: '#/new' }, 'New crawl')),
    collections.length
      ? h('div', { class: 'shelf' }, newest.map(card))
      : empty('No collections yet', 'Start one here with “New crawl”, or with `gleaner crawl` in this folder.', '`gleaner demo` makes one without internet.'));
}
