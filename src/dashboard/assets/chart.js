// Small SVG charts: lines that can grow, bars with a mark. Drawn to the width there is, again when that changes.

import { svg, h, fixed } from './dom.js';

const PAD = { left: 46, right: 12, top: 10, bottom: 34 };

function nice(most) {
  if (!(most > 0)) return 1;
  const step = 10 ** Math.floor(Math.log10(most));
  return [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((m) => m * step).find((m) => m >= most) ?? most;
}
const short = (n) => (Math.abs(n) >= 1e6 ? n / 1e6 + ' M' : Math.abs(n) >= 1e4 ? n / 1e3 + ' k' : String(+n.toFixed(2)));

/** Lines over a common x. `spec`: {label, x, y, format, top (fixed upper end)}; update(series) with [{name, points, dash, area}]. */
export function lines(spec) {
  const el = svg('svg', { class: 'chart', role: 'img', 'aria-label': spec.label, preserveAspectRatio: 'none' });
  const keyline = h('div', { class: 'keyline' });
  const box = h('figure', { style: { margin: 0 } }, el, keyline);
  const format = spec.format ?? short;
  let series = [];
  let at = null;

  function draw() {
    const width = el.clientWidth || 600;
    const height = el.clientHeight || 220;
    el.setAttribute('viewBox', `0 0 ${width} ${height}`);
    el.replaceChildren();
    const points = series.flatMap((s) => s.points);
    const right = Math.max(1, ...points.map((p) => p[0]));
    const top = spec.top ?? nice(Math.max(0, ...points.map((p) => p[1])));
    const X = (x) => PAD.left + ((width - PAD.left - PAD.right) * x) / right;
    const Y = (y) => height - PAD.bottom - ((height - PAD.top - PAD.bottom) * Math.min(y, top)) / top;
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      const y = Y(top * share);
      el.append(svg('line', { class: share ? 'grid-line' : 'axis', x1: PAD.left, x2: width - PAD.right, y1: y, y2: y }));
      el.append(svg('text', { x: PAD.left - 6, y: y + 4, 'text-anchor': 'end' }, format(top * share)));
    }
    for (const share of [0, 0.5, 1]) {
      const anchor = share === 0 ? 'start' : share === 1 ? 'end' : 'middle';
      el.append(svg('text', { x: X(right * share), y: height - PAD.bottom + 15, 'text-anchor': anchor }, short(Math.round(right * share))));
    }
    el.append(svg('text', { x: X(right / 2), y: height - 4, 'text-anchor': 'middle' }, spec.x));
    series.forEach((s, i) => {
      if (!s.points.length) return;
      const d = s.points.map(([x, y], n) => (n ? 'L' : 'M') + X(x).toFixed(1) + ' ' + Y(y).toFixed(1)).join('');
      if (s.area) el.append(svg('path', { class: 'area', d: d + `L${X(s.points.at(-1)[0])} ${Y(0)}L${X(s.points[0][0])} ${Y(0)}Z` }));
      el.append(svg('path', { class: `c${i % 6}` + (s.dash ? ' dash' : ''), d }));
    });
    if (at !== null && points.length) {
      const x = Math.max(0, Math.min(right, ((at - PAD.left) / (width - PAD.left - PAD.right)) * right));
      el.append(svg('line', { class: 'hover', x1: X(x), x2: X(x), y1: PAD.top, y2: height - PAD.bottom }));
      const said = series.map((s) => {
        const p = s.points.findLast((p) => p[0] <= x) ?? s.points[0];
        return p && `${s.name} ${format(p[1])}`;
      }).filter(Boolean);
      const left = X(x) > width / 2;
      el.append(svg('text', { class: 'tip', x: X(x) + (left ? -6 : 6), y: PAD.top + 10, 'text-anchor': left ? 'end' : 'start' }, `${short(Math.round(x))}: ` + said.slice(0, 4).join(' · ')));
    }
    keyline.replaceChildren(...(series.length > 1 ? series.map((s, i) => h('span', {}, h('i', { class: `k${i % 6}` }), s.name)) : []));
    const last = series.map((s) => s.points.length && `${s.name} ${format(s.points.at(-1)[1])}`).filter(Boolean).join(', ');
    el.setAttribute('aria-label', spec.label + (last ? '. Now: ' + last : '. No data yet'));
  }
  el.addEventListener('pointermove', (e) => { at = e.clientX - el.getBoundingClientRect().left; draw(); });
  el.addEventListener('pointerleave', () => { at = null; draw(); });
  new ResizeObserver(draw).observe(el);
  return { el: box, update(next) { series = next; draw(); } };
}

/** Bars from low to high; `mark` draws a line at a value. */
export function histogram(spec) {
  const el = svg('svg', { class: 'chart', role: 'img', 'aria-label': spec.label, preserveAspectRatio: 'none' });
  let bars = [];
  let mark = null;
  function draw() {
    const width = el.clientWidth || 600;
    const height = el.clientHeight || 220;
    el.setAttribute('viewBox', `0 0 ${width} ${height}`);
    el.replaceChildren();
    if (!bars.length) return;
    const low = bars[0].from;
    const high = bars.at(-1).to;
    const most = nice(Math.max(1, ...bars.map((b) => b.count)));
    const X = (x) => PAD.left + ((width - PAD.left - PAD.right) * (x - low)) / Math.max(high - low, 1e-9);
    const Y = (y) => height - PAD.bottom - ((height - PAD.top - PAD.bottom) * y) / most;
    for (const share of [0, 0.5, 1]) {
      el.append(svg('line', { class: share ? 'grid-line' : 'axis', x1: PAD.left, x2: width - PAD.right, y1: Y(most * share), y2: Y(most * share) }));
      el.append(svg('text', { x: PAD.left - 6, y: Y(most * share) + 4, 'text-anchor': 'end' }, short(most * share)));
    }
    bars.forEach((b) => {
      const left = bars.length === 1 ? PAD.left : X(b.from) + 1;
      const wide = bars.length === 1 ? width - PAD.left - PAD.right : Math.max(1, X(b.to) - X(b.from) - 2);
      el.append(svg('rect', { class: 'b' + (b.leaf ? ' leaf' : ''), x: left, y: Y(b.count), width: wide, height: Math.max(0, Y(0) - Y(b.count)), rx: 2 }, svg('title', {}, `${fixed(b.from)} – ${fixed(b.to)}: ${b.count}`)));
    });
    for (const x of [low, (low + high) / 2, high]) el.append(svg('text', { x: X(x), y: height - PAD.bottom + 15, 'text-anchor': x === low ? 'start' : x === high ? 'end' : 'middle' }, fixed(x)));
    el.append(svg('text', { x: (PAD.left + width - PAD.right) / 2, y: height - 4, 'text-anchor': 'middle' }, spec.x));
    if (mark !== null && mark >= low && mark <= high) {
      el.append(svg('line', { class: 'mark', x1: X(mark), x2: X(mark), y1: PAD.top, y2: Y(0) }));
      el.append(svg('text', { class: 'tip', x: X(mark) + 5, y: PAD.top + 10 }, 'threshold ' + fixed(mark)));
    }
    el.setAttribute('aria-label', `${spec.label}: ${bars.reduce((n, b) => n + b.count, 0)} in all, from ${fixed(low)} to ${fixed(high)}`);
  }
  new ResizeObserver(draw).observe(el);
  return { el, update(next, at = null) { bars = next; mark = at; draw(); } };
}
