// Building the page. Text is always text: nothing here (or anywhere) turns a string into markup.

import { explained } from './words.js';

const SVG = 'http://www.w3.org/2000/svg';

function fill(el, props, children) {
  for (const [key, value] of Object.entries(props || {})) {
    if (key.startsWith('aria-') && typeof value === 'boolean') { el.setAttribute(key, String(value)); continue; }
    if (value === null || value === undefined || value === false) continue;
    if (key === 'on') for (const [event, fn] of Object.entries(value)) el.addEventListener(event, fn);
    else if (key === 'style') Object.assign(el.style, value);
    else if (key === 'value') el.value = value;
    else if (key === 'href') el.setAttribute('href', safe(value));
    else el.setAttribute(key, value === true ? '' : String(value));
  }
  add(el, children);
  return el;
}

export function add(el, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    el.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return el;
}

/** An element: h('p', {class: 'soft'}, 'text', otherElement). */
export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);
export const svg = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);

/** Only addresses that cannot run anything. */
function safe(href) {
  const text = String(href);
  return text.startsWith('#') || text.startsWith('/') || /^https?:\/\//i.test(text) ? text : '#';
}

/** A link out to the Web. */
export const out = (url, text, props) =>
  h('a', { href: url, target: '_blank', rel: 'noopener noreferrer nofollow', ...props }, text ?? url);

export function show(el, ...children) {
  el.replaceChildren();
  return add(el, children);
}

// ---- numbers for people -------------------------------------------------------------------------------------------

const whole = new Intl.NumberFormat('en');
export const count = (n) => (n === null || n === undefined ? '–' : whole.format(n));
/** As the terminal rounds: a tie goes to the even digit. */
function rounded(x, digits) {
  const scaled = x * 10 ** digits;
  const tie = Math.abs(scaled - Math.trunc(scaled)) === 0.5;
  return tie ? (2 * Math.round(scaled / 2) / 10 ** digits).toFixed(digits) : x.toFixed(digits);
}
export const percent = (x, digits = 1) => (x === null || x === undefined ? '–' : rounded(100 * x, digits) + ' %');
export const fixed = (x, digits = 2) => (x === null || x === undefined ? '–' : rounded(Number(x), digits));
export function bytes(n) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let i = 0;
  while (n >= 1000 && i < units.length - 1) { n /= 1000; i++; }
  return (i === 0 ? n : n.toFixed(1)) + ' ' + units[i];
}
export function span(ms) {
  if (ms === null || ms === undefined) return '–';
  const s = Math.round(ms / 1000);
  if (s < 60) return s + ' s';
  if (s < 3600) return Math.floor(s / 60) + ' min ' + (s % 60) + ' s';
  if (s < 86400) return Math.floor(s / 3600) + ' h ' + Math.floor((s % 3600) / 60) + ' min';
  return Math.floor(s / 86400) + ' d ' + Math.floor((s % 86400) / 3600) + ' h';
}
export const when = (ms) => (ms ? new Date(ms).toISOString().replace('T', ' ').slice(0, 16) + ' UTC' : '–');
/** A priority key: adaptive's are log-odds, others' are shares or counters. */
export const key = (p) => (p.key === null ? 'lowest' : fixed(p.key, 3)) + (p.lane ? ' in lane ' + p.lane : '');

// ---- pieces that every view uses ----------------------------------------------------------------------------------

export const badge = (text, kind) => h('span', { class: 'badge ' + (kind ?? String(text).split(' ')[0]) }, text);
export const verdict = (relevant) => badge(relevant ? 'relevant' : 'not relevant', relevant ? 'yes' : 'no');
/** Pieces of text from the server, some of them marked. */
export const pieces = (list) => list.map((p) => (p.set ? h('mark', { class: 'set-' + p.set }, p.text) : p.text));
export const empty = (title, ...text) => h('div', { class: 'empty' }, h('h2', {}, title), ...text.map((t) => h('p', {}, t)));
export const loading = () => h('p', { class: 'loading' }, 'Loading…');
export const failure = (e) =>
  h('div', { class: 'fail', role: 'alert' }, h('h2', {}, e.what || 'This did not work'), e.because && h('p', {}, e.because), e.hint && h('p', {}, e.hint));
export const meter = (share, kind) =>
  h('div', { class: 'meter' }, h('i', { class: kind || '', style: { width: Math.max(0, Math.min(100, 100 * share)) + '%' } }));

/** Rows of a name, a bar and a number. An item with `href` opens its list; `text` stands for the number. */
export function bars(items, kind) {
  const most = Math.max(1, ...items.map((i) => i.count));
  return h('div', { class: 'bars' }, items.map((i) =>
    h(i.href ? 'a' : 'div', { class: 'barrow', href: i.href, title: explained(i.name) }, h('span', {}, i.name),
      meter(i.count / most, kind), h('span', { class: 'num' }, i.text ?? count(i.count)))));
}

export function note(text, bad) {
  const el = h('div', { class: bad ? 'bad' : '' }, text);
  document.getElementById('notes').append(el);
  setTimeout(() => el.remove(), bad ? 9000 : 5000);
}
