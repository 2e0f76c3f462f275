// Charts: lines that can grow, bars with a mark, a ranking. Each is drawn to the width there is.
// Nothing is imported and text is always text: reports carry this file inside them.

const NS = 'http://www.w3.org/2000/svg';
const COLOURS = 8;
const LINE = 14; // height of a line of small text
const TALLEST = 470;
const NARROWEST = 380; // a chart that still has room for names beside its lines

function put(el, props, children) {
  for (const [k, v] of Object.entries(props)) if (v !== null && v !== undefined) el.setAttribute(k, v);
  el.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return el;
}
const draws = (tag, props = {}, ...children) => put(document.createElementNS(NS, tag), props, children);
const html = (tag, props = {}, ...children) => put(document.createElement(tag), props, children);
const key = (kind) => html('i', { class: 'key ' + kind });

// ---- numbers ------------------------------------------------------------------------------------

const separated = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
function short(n) {
  if (Math.abs(n) >= 1e6) return +(n / 1e6).toFixed(2) + ' M';
  return Math.abs(n) >= 1e5 ? +(n / 1e3).toFixed(1) + ' k' : separated.format(n);
}
/** How a value is written on an axis and in a sentence. */
const UNITS = {
  count: { whole: true, tick: short, say: (v) => separated.format(v) },
  percent: {
    tick: (v) => +(100 * v).toFixed(2) + ' %',
    say: (v) => +(100 * v).toFixed(v < 0.0995 ? 1 : 0) + ' %',
  },
  number: { tick: (v) => String(+v.toFixed(6)), say: (v) => String(+v.toFixed(3)) },
};
const unit = (name, format) => (format ? { tick: format, say: format } : (UNITS[name] ?? UNITS.count));

/** 1, 2 or 5 times a power of ten, `least` and more. */
function* steps(least) {
  for (let power = 10 ** Math.floor(Math.log10(least)); ; power *= 10) {
    for (const m of [1, 2, 5]) if (m * power >= least * 0.999) yield m * power;
  }
}

/** Round numbers from low to high, in `most` steps at most. No two are written alike, counts are whole. */
function ticks(low, high, most, as) {
  const reach = Math.max(high - low, 1e-9);
  for (const step of steps(Math.max(reach / Math.max(1, most), as.whole ? 1 : 0))) {
    const list = [];
    const last = Math.floor(high / step + 1e-9);
    for (let i = Math.ceil(low / step - 1e-9); i <= last; i++) list.push(+(i * step).toPrecision(12));
    if (new Set(list.map(as.tick)).size === list.length) return { step, list };
  }
}

/** From a round number below all to one above, but not beyond `ceiling`. */
function fitted(least, most, room, as, ceiling = Infinity) {
  const reach = most > least ? Math.min(most, ceiling) : Math.min(least + 1, ceiling);
  const { step } = ticks(least, reach, room, as);
  const base = Math.floor(least / step + 1e-9) * step;
  const top = Math.min(ceiling, Math.ceil(reach / step - 1e-9) * step);
  return { base, top, list: ticks(base, top, (top - base) / step, as).list };
}

// ---- text ---------------------------------------------------------------------------------------

let pen = null;
function wide(el, text) {
  pen ??= document.createElement('canvas').getContext('2d');
  pen.font = '11px ' + getComputedStyle(el).fontFamily;
  return pen.measureText(text).width;
}
const widest = (el, texts) => Math.max(0, ...texts.map((t) => wide(el, t)));
const say = (x, y, text, anchor = 'start', kind = null) =>
  draws('text', { x, y, 'text-anchor': anchor, class: kind }, text);

// ---- what all charts have -----------------------------------------------------------------------

let charts = 0;

/** An element that is drawn again whenever its width changes. */
function surface(draw) {
  const id = `chart-${++charts}`;
  const el = draws('svg', { class: 'chart', role: 'img', 'aria-describedby': id });
  const more = html('p', { class: 'chart-said', id });
  const tip = html('div', { class: 'tip', 'aria-hidden': 'true', hidden: '' });
  const plot = html('div', { class: 'plot' }, el, tip);
  let drawn = 0;
  // Of no width: hidden, or not on the page yet. It is drawn when it is shown.
  const redraw = () => {
    drawn = el.clientWidth;
    if (drawn) draw(drawn, el.clientHeight);
  };
  new ResizeObserver(() => {
    if (el.clientWidth !== drawn) redraw();
  }).observe(el);
  return { el, more, tip, plot, redraw };
}

/** Axes with what they count; gives the scales. `names`: room on the right. */
function axes(el, width, height, { x, y, low, high, least = 0, most, xUnit, yUnit, ceiling, names = 0 }) {
  const top = y ? 24 : 10;
  const bottom = height - (x ? 38 : 22);
  const up = fitted(least, most, Math.max(1, Math.floor((bottom - top) / 40)), yUnit, ceiling);
  const left = widest(el, up.list.map(yUnit.tick)) + 10;
  // As many numbers as there is room for: their width is known when they are chosen.
  let across = ticks(low, high, Math.floor((width - left - names) / 50), xUnit).list;
  const label = widest(el, across.map(xUnit.tick));
  const right = width - Math.max(names, label / 2 + 4, 10);
  across = ticks(low, high, Math.max(1, Math.floor((right - left) / Math.max(50, label + 24))), xUnit).list;
  const X = (v) => left + ((right - left) * (v - low)) / Math.max(high - low, 1e-9);
  const within = (v) => Math.max(up.base, Math.min(v, up.top));
  const Y = (v) => bottom - ((bottom - top) * (within(v) - up.base)) / (up.top - up.base);
  el.setAttribute('viewBox', `0 0 ${width} ${height}`);
  el.replaceChildren();
  for (const v of up.list) {
    const kind = v > up.base ? 'grid-line' : 'axis';
    el.append(draws('line', { class: kind, x1: left, x2: right, y1: Y(v), y2: Y(v) }));
    el.append(say(left - 6, Y(v) + 4, yUnit.tick(v), 'end', 'y-tick'));
  }
  for (const v of across) {
    el.append(draws('line', { class: 'axis', x1: X(v), x2: X(v), y1: bottom, y2: bottom + 4 }));
    el.append(say(X(v), bottom + 18, xUnit.tick(v), 'middle', 'x-tick'));
  }
  if (x) el.append(say((left + right) / 2, height - 4, x, 'middle', 'x-label'));
  if (y) el.append(say(0, 11, y, 'start', 'y-label'));
  return { X, Y, left, right, top, bottom };
}

/** A cursor that pointer and arrow keys move. `stops()`: places across; `look(i)`: what is there. */
function cursor({ el, tip, plot }, stops, look) {
  let at = null;
  const layer = draws('g', { class: 'cursor' });
  function show() {
    layer.replaceChildren();
    const seen = at === null ? null : look(at);
    tip.hidden = !seen;
    if (!seen) return;
    el.setAttribute('aria-valuenow', seen.now);
    el.setAttribute(
      'aria-valuetext',
      [seen.title, ...seen.rows.map((r) => `${r.name} ${r.value}`)].join(', '),
    );
    layer.append(draws('line', { class: 'hover', x1: seen.x, x2: seen.x, y1: seen.top, y2: seen.bottom }));
    layer.append(
      ...seen.marks.map((m) => draws('circle', { class: 'dot ' + m.kind, cx: seen.x, cy: m.y, r: 4 })),
    );
    el.append(layer);
    const room = Math.max(1, Math.min(10, Math.floor((el.clientHeight - 34) / 18)));
    const rows = seen.rows.slice(0, seen.rows.length > room ? room - 1 : room);
    const left = seen.rows.length - rows.length;
    tip.replaceChildren(
      html('b', {}, seen.title),
      ...rows.map((r) => html('span', {}, key(r.kind), html('em', {}, r.name), html('b', {}, r.value))),
      ...(left ? [html('span', {}, `and ${left} more`)] : []),
    );
    // Beside the points, and never over the edge.
    const [w, h] = [tip.offsetWidth, tip.offsetHeight];
    const across = seen.x + 12 + w <= plot.clientWidth ? seen.x + 12 : seen.x - 12 - w;
    const middle = seen.marks.reduce((sum, m) => sum + m.y, 0) / Math.max(1, seen.marks.length);
    tip.style.left = Math.max(0, Math.min(across, plot.clientWidth - w)) + 'px';
    tip.style.top = Math.max(0, Math.min(middle - h / 2, plot.clientHeight - h)) + 'px';
  }
  function go(next) {
    at = next;
    show();
  }
  el.addEventListener('pointermove', (e) => {
    const x = e.clientX - el.getBoundingClientRect().left;
    const list = stops();
    let best = null;
    list.forEach((s, i) => {
      if (best === null || Math.abs(s - x) < Math.abs(list[best] - x)) best = i;
    });
    go(best);
  });
  for (const gone of ['pointerleave', 'blur']) el.addEventListener(gone, () => go(null));
  el.addEventListener('keydown', (e) => {
    const last = stops().length - 1;
    const far = e.shiftKey ? Math.max(1, Math.round(last / 10)) : 1;
    const from = at ?? last;
    const to = {
      ArrowLeft: at === null ? last : from - far,
      ArrowRight: from + far,
      Home: 0,
      End: last,
      Escape: null,
    }[e.key];
    if (last < 0 || to === undefined || (to === null && at === null) || e.ctrlKey || e.metaKey || e.altKey)
      return;
    e.preventDefault();
    e.stopPropagation();
    go(to === null ? null : Math.max(0, Math.min(last, to)));
  });
  return {
    /** After a change of the data: what is known to readers who do not see it, and the cursor again. */
    fresh(label, from, to, nothing) {
      const moves = stops().length > 0;
      put(el, { role: moves ? 'slider' : 'img', 'aria-label': label }, []);
      for (const [name, value] of Object.entries({
        tabindex: 0,
        'aria-valuemin': from,
        'aria-valuemax': to,
        'aria-valuenow': to,
        'aria-valuetext': label,
      })) {
        if (moves) el.setAttribute(name, value);
        else el.removeAttribute(name);
      }
      if (!moves) {
        el.replaceChildren(
          say(el.clientWidth / 2, el.clientHeight / 2, nothing ?? 'nothing to show yet', 'middle'),
        );
        el.setAttribute('viewBox', `0 0 ${el.clientWidth} ${el.clientHeight}`);
      }
      if (at !== null) at = moves ? Math.min(at, stops().length - 1) : null;
      show();
    },
  };
}

// ---- lines --------------------------------------------------------------------------------------

/** The value of a line at x; null where it has not begun or has ended. */
function valueAt(points, x) {
  if (!points.length || x < points[0][0] || x > points.at(-1)[0]) return null;
  let [a, b] = [0, points.length - 1];
  while (b - a > 1) {
    const m = (a + b) >> 1;
    if (points[m][0] <= x) a = m;
    else b = m;
  }
  if (points[b][0] <= x) return points[b][1];
  const [[x0, y0], [x1, y1]] = [points[a], points[b]];
  return x1 > x0 ? y0 + ((y1 - y0) * (x - x0)) / (x1 - x0) : y0;
}

function look(s, i) {
  const n = s.colour ?? i;
  const dash = s.dash ? ' dash' : n >= COLOURS ? ' d' + (1 + ((Math.floor(n / COLOURS) - 1) % 3)) : '';
  return s.reference
    ? { line: 'ref' + (s.dash ? ' d2' : ''), fill: 'f-ref', key: 'k-ref' + (s.dash ? ' d2' : '') }
    : { line: `c${n % COLOURS}${dash}`, fill: `f${n % COLOURS}`, key: `k${n % COLOURS}${dash}` };
}

/** Names at the ends of the lines, moved apart so that each can be read. */
function nameEnds(el, list, f) {
  const mean = (s) => s.points.reduce((sum, p) => sum + p[1], 0) / s.points.length;
  // Lines that end together are named in the order in which they ran.
  const ends = list
    .map((s) => ({ ...s, x: f.X(s.points.at(-1)[0]), from: f.Y(s.points.at(-1)[1]) }))
    .sort((a, b) => a.from - b.from || mean(b) - mean(a));
  let last = -Infinity;
  for (const e of ends) {
    e.y = Math.max(e.from, last + LINE);
    last = e.y;
  }
  let limit = f.bottom + 4;
  for (const e of ends.toReversed()) {
    e.y = Math.min(e.y, limit);
    limit = e.y - LINE;
  }
  for (const e of ends) {
    const lead = `M${e.x} ${e.from}H${f.right + 3}L${f.right + 12} ${e.y}`;
    el.append(draws('path', { class: 'lead ' + e.kind.line, d: lead }));
    el.append(draws('path', { class: e.kind.line, d: `M${f.right + 12} ${e.y}h12` }));
    el.append(draws('circle', { class: 'dot ' + e.kind.fill, cx: e.x, cy: e.from, r: 3 }));
    el.append(say(f.right + 28, e.y + 4, e.name, 'start', 'name'));
  }
}

/**
 * Lines over a common x. `spec`: label (a sentence), x and y (what the axes count), unit and xUnit ('count',
 * 'percent', 'number') or format (a function), top (no higher than this), key (false: the lines are named
 * elsewhere), none (what to say without data). update(series) with the most important first:
 * [{name, points, dash, area, colour, reference}].
 */
export function lines(spec) {
  const yUnit = unit(spec.unit, spec.format);
  const xUnit = unit(spec.xUnit);
  const keyline = html('div', { class: 'keyline' });
  let series = [];
  let frame = null;
  let stops = [];
  const on = surface(draw);
  const box = html('figure', { class: 'chart-box' }, on.plot, keyline, on.more);
  const moving = cursor(
    on,
    () => stops.map((x) => frame.X(x)),
    (i) => {
      const rows = series
        .map((s) => ({ name: s.name, kind: s.kind.key, fill: s.kind.fill, v: valueAt(s.points, stops[i]) }))
        .filter((r) => r.v !== null)
        .sort((a, b) => b.v - a.v);
      return {
        now: stops[i],
        x: frame.X(stops[i]),
        top: frame.top,
        bottom: frame.bottom,
        title: `${xUnit.say(stops[i])} ${spec.x ?? ''}`.trim(),
        marks: rows.map((r) => ({ y: frame.Y(r.v), kind: r.fill })),
        rows: rows.map((r) => ({ name: r.name, kind: r.kind, value: yUnit.say(r.v) })),
      };
    },
  );

  function draw(width) {
    const { el } = on;
    const points = series.flatMap((s) => s.points);
    stops = [...new Set(points.map((p) => p[0]))].sort((a, b) => a - b);
    const last = (x) =>
      series
        .map((s) => [s.name, valueAt(s.points, Math.min(x, s.points.at(-1)[0]))])
        .filter(([, v]) => v !== null)
        .map(([name, v]) => `${name} ${yUnit.say(v)}`)
        .join(', ');
    const label = spec.label + (stops.length ? `. At the end: ${last(Infinity)}` : '. No data yet');
    const some = [0.2, 0.4, 0.6, 0.8].map((share) => stops[Math.floor(share * (stops.length - 1))]);
    on.more.textContent =
      stops.length < 2
        ? ''
        : [...new Set(some)].map((x) => `At ${xUnit.say(x)} ${spec.x ?? ''}: ${last(x)}.`).join(' ');
    keyline.replaceChildren();
    if (stops.length) {
      const several = series.length > 1 && spec.key !== false;
      const names = Math.max(...series.map((s) => wide(el, s.name)));
      const tall = series.length * LINE + 60;
      const direct = several && width - names > NARROWEST && names < 0.3 * width && tall < TALLEST;
      // Many names need a taller chart.
      el.style.height = '';
      if (direct && tall > el.clientHeight) el.style.height = tall + 'px';
      const height = el.clientHeight;
      const high = stops.at(-1) > 0 ? stops.at(-1) : 1;
      const [least, most] = points.reduce(([a, b], [, y]) => [Math.min(a, y), Math.max(b, y)], [Infinity, 0]);
      // Shares that are all alike would be flat lines in a chart that begins at 0; counts begin there.
      const far = !yUnit.whole && least > 0.4 * most && !series.some((s) => s.area);
      const y = spec.y ?? (series.length === 1 ? series[0].name : null);
      frame = axes(el, width, height, {
        x: spec.x,
        y,
        low: Math.min(0, stops[0]),
        high,
        least: far ? least : 0,
        most,
        xUnit,
        yUnit,
        ceiling: spec.top,
        names: direct ? names + 32 : 0,
      });
      const { X, Y } = frame;
      for (const s of series.toReversed()) {
        const d = s.points
          .map(([x, y], n) => (n ? 'L' : 'M') + X(x).toFixed(1) + ' ' + Y(y).toFixed(1))
          .join('');
        const under = `L${X(s.points.at(-1)[0])} ${Y(0)}L${X(s.points[0][0])} ${Y(0)}Z`;
        if (s.area) el.append(draws('path', { class: 'area ' + s.kind.fill, d: d + under }));
        el.append(draws('path', { class: s.kind.line, d }));
      }
      if (direct) nameEnds(el, series, frame);
      else if (several) keyline.append(...series.map((s) => html('span', {}, key(s.kind.key), s.name)));
    }
    moving.fresh(label, stops[0], stops.at(-1), spec.none);
  }
  return {
    el: box,
    update(next) {
      const real = (p) => Number.isFinite(p[0]) && Number.isFinite(p[1]);
      series = next
        .map((s, i) => ({ ...s, kind: look(s, i), points: s.points.filter(real) }))
        .filter((s) => s.points.length);
      on.redraw();
    },
  };
}

// ---- bars ---------------------------------------------------------------------------------------

/**
 * Bars from low to high. `spec`: label, x, y, part (what the green part of a bar counts), mark (name of the
 * line), none. update(bars, mark) with [{from, to, count, part, leaf}] and the value at which a line stands.
 */
export function histogram(spec) {
  const xUnit = UNITS.number;
  const yUnit = UNITS.count;
  let bars = [];
  let mark = null;
  let frame = null;
  const on = surface(draw);
  const box = html('figure', { class: 'chart-box' }, on.plot, on.more);
  const range = (b) => `${xUnit.say(b.from)} – ${xUnit.say(b.to)}`;
  const middle = (b) => (frame.X(b.from) + frame.X(b.to)) / 2;
  const moving = cursor(
    on,
    () => (frame ? bars.map(middle) : []),
    (i) => {
      const b = bars[i];
      const rows = [{ name: spec.y ?? 'in all', kind: b.leaf ? 'k0' : 'k1', value: yUnit.say(b.count) }];
      if (spec.part) rows.push({ name: spec.part, kind: 'k0', value: yUnit.say(b.part ?? 0) });
      return {
        now: b.from,
        x: middle(b),
        top: frame.top,
        bottom: frame.bottom,
        title: range(b),
        rows,
        marks: [{ y: frame.Y(b.count), kind: b.leaf ? 'f0' : 'f1' }],
      };
    },
  );

  function draw(width, height) {
    const { el } = on;
    const all = bars.reduce((n, b) => n + b.count, 0);
    const [low, high] = bars.length ? [bars[0].from, bars.at(-1).to] : [0, 0];
    const label =
      spec.label +
      (bars.length ? `: ${yUnit.say(all)} in all, from ${xUnit.say(low)} to ${xUnit.say(high)}` : ': none');
    on.more.textContent = bars
      .filter((b) => b.count)
      .slice(0, 40)
      .map((b) => `${range(b)}: ${yUnit.say(b.count)}.`)
      .join(' ');
    frame = null;
    if (bars.length) {
      // A single value still gets a bar that can be seen.
      const around = high > low ? 0 : 0.5;
      frame = axes(el, width, height, {
        x: spec.x,
        y: spec.y,
        low: low - around,
        high: high + around,
        most: Math.max(...bars.map((b) => b.count)),
        xUnit,
        yUnit,
      });
      const { X, Y } = frame;
      for (const b of bars) {
        const x = X(b.from - around) + 1;
        const across = Math.max(1, X(b.to + around) - x - 1);
        const bar = (n, kind) => {
          const tall = n > 0 ? Math.max(1.5, Y(0) - Y(n)) : 0;
          el.append(
            draws('rect', { class: 'b' + kind, x, y: Y(0) - tall, width: across, height: tall, rx: 2 }),
          );
        };
        bar(b.count, b.leaf ? ' leaf' : '');
        if (b.part) bar(b.part, ' leaf');
      }
      if (mark !== null && mark >= low && mark <= high) {
        const text = `${spec.mark ?? 'threshold'} ${xUnit.say(mark)}`;
        const fits = X(mark) + 5 + wide(el, text) <= width;
        el.append(draws('line', { class: 'mark', x1: X(mark), x2: X(mark), y1: frame.top, y2: Y(0) }));
        el.append(say(X(mark) + (fits ? 5 : -5), frame.top + 9, text, fits ? 'start' : 'end', 'mark-name'));
      }
    }
    moving.fresh(label, low, high, spec.none);
  }
  return {
    el: box,
    update(next, at = null) {
      bars = next.filter((b) => Number.isFinite(b.from) && Number.isFinite(b.to) && Number.isFinite(b.count));
      mark = at;
      on.redraw();
    },
  };
}

/**
 * Bars one below the other, with intervals. `spec`: label, x, unit, top. update(rows) with
 * [{name, value, low, high, note, colour}], the best first.
 */
export function ranking(spec) {
  const as = unit(spec.unit, spec.format);
  let rows = [];
  const on = surface(draw);
  on.el.classList.add('ranking');
  const box = html('figure', { class: 'chart-box' }, on.plot, on.more);

  function draw(width) {
    const { el } = on;
    const note = (r) => r.note ?? as.say(r.value);
    const names = widest(
      el,
      rows.map((r) => r.name),
    );
    // On a narrow screen a name stands above its bar.
    const above = names > 0.35 * width;
    const tall = above ? 38 : 24;
    const left = above ? 2 : names + 10;
    const right = width - widest(el, rows.map(note)) * 1.15 - 12;
    const bottom = rows.length * tall + 4;
    const height = bottom + (spec.x ? 36 : 20);
    const most = Math.max(0, ...rows.map((r) => Math.max(r.value, r.high ?? 0)));
    const axis = fitted(0, most, Math.max(1, Math.floor((right - left) / 70)), as, spec.top);
    const X = (v) => left + ((right - left) * Math.max(0, Math.min(v, axis.top))) / axis.top;
    el.style.height = height + 'px';
    el.setAttribute('viewBox', `0 0 ${width} ${height}`);
    el.setAttribute('aria-label', `${spec.label}: ${rows.map((r) => `${r.name} ${note(r)}`).join(', ')}`);
    el.replaceChildren();
    for (const v of axis.list) {
      el.append(draws('line', { class: v ? 'grid-line' : 'axis', x1: X(v), x2: X(v), y1: 0, y2: bottom }));
      el.append(say(X(v), bottom + 14, as.tick(v), 'middle', 'x-tick'));
    }
    if (spec.x) el.append(say((left + right) / 2, height - 4, spec.x, 'middle', 'x-label'));
    rows.forEach((r, i) => {
      const y = i * tall + (above ? 18 : 4);
      el.append(
        above ? say(left, y - 4, r.name, 'start', 'name') : say(left - 8, y + 12, r.name, 'end', 'name'),
      );
      el.append(
        draws('rect', {
          class: look(r, i).fill,
          x: left,
          y,
          width: Math.max(1, X(r.value) - left),
          height: 16,
          rx: 2,
        }),
      );
      const whole = Number.isFinite(r.low) && Number.isFinite(r.high);
      if (whole) {
        const [a, b, m] = [X(r.low), X(r.high), y + 8];
        el.append(
          draws('path', {
            class: 'whisker',
            d: `M${a} ${m}H${b}M${a} ${m - 4}V${m + 4}M${b} ${m - 4}V${m + 4}`,
          }),
        );
      }
      el.append(say(Math.max(X(r.value), whole ? X(r.high) : 0) + 7, y + 12, note(r), 'start', 'value'));
    });
  }
  return {
    el: box,
    update(next) {
      rows = next.filter((r) => Number.isFinite(r.value));
      on.redraw();
    },
  };
}
