// Steering a crawl: start, pause, resume, stop, go on after its end, and what can be changed.

import { h, show, note, count, span, when } from './dom.js';
import { get, post, patch, of } from './api.js';

const told = (e) => note([e.what, e.because, e.hint].filter(Boolean).join(' — '), true);

/** How much more, by the limit that ended the crawl: text and what is added. */
const MORE = {
  pages: [['+500 pages', 500], ['+5,000', 5000]],
  relevant: [['+50 relevant pages', 50], ['+500', 500]],
  time: [['+10 minutes', 600_000], ['+2 hours', 7_200_000]],
};

/** Limits as they are, with one of them further away. Time is counted from the start of each run. */
function further(d, limit, more) {
  const { pages, relevant, time_ms } = d.budget;
  const open = (most, now) => (most && most > now ? most : null);
  const limits = { pages: open(pages, d.pages), relevant: open(relevant, d.relevant), time_ms };
  if (limit === 'pages') limits.pages = d.pages + more;
  if (limit === 'relevant') limits.relevant = d.relevant + more;
  if (limit === 'time') limits.time_ms = more;
  return { limits };
}

/** Buttons beside the title, and a line that says why it stopped. `update` is told of every new state. */
export function controls({ collection, get: now, refresh }) {
  const el = h('div', { class: 'row', id: 'controls' });
  const banner = h('div', { id: 'stopped', class: 'alert', hidden: true });
  let shown = '';
  const act = (action, settings) => async () => {
    try {
      note((await post(of(collection, '/control'), settings ? { action, settings: settings() } : { action })).text);
      await refresh();
    } catch (e) { told(e); }
  };
  const button = (text, action, cls, settings) =>
    h('button', { class: cls ?? '', id: 'do-' + action, on: { click: act(action, settings) } }, text);
  const change = (text) =>
    h('button', { id: 'change', on: { click: () => dialog(collection, now, refresh).catch(told) } }, text ?? 'Change…');

  /** What a crawl that is not running offers. */
  function ended(d) {
    const more = MORE[d.limit];
    if (more) {
      const [first, ...rest] = more;
      return [
        h('button', { class: 'primary', id: 'do-start', on: { click: act('start', () => further(now(), d.limit, first[1])) } }, first[0]),
        rest.map(([text, n]) => h('button', { on: { click: act('start', () => further(now(), d.limit, n)) } }, text)),
        change(),
      ];
    }
    return [button(d.pages ? 'Go on' : 'Start', 'start', 'primary'), change()];
  }

  function update(d) {
    const state = JSON.stringify([d.state, d.controlled, d.paused, d.stopped, d.limit]);
    if (state === shown) return;
    shown = state;
    banner.hidden = !d.stopped || d.state !== 'stopped';
    show(banner, h('b', {}, 'Stopped: '), d.stopped, d.ended ? h('span', { class: 'soft' }, ` · ${when(d.ended)}`) : null,
      d.pending ? ` · ${count(d.pending)} URLs are pending` : ' · add seeds to go on');
    if (d.shared && d.state === 'stopped') show(el, h('span', { class: 'soft small' }, 'no worker is running'), d.paused && button('Resume', 'resume', 'primary'), change());
    else if (d.state === 'stopped') show(el, ended(d));
    else if (!d.controlled) show(el, h('span', { class: 'soft small' }, 'run by another process: watching only'));
    else if (d.state === 'paused') show(el, button('Resume', 'resume', 'primary'), button('Stop', 'stop', 'danger'), change());
    else if (d.state === 'running') show(el, button('Pause', 'pause'), button('Stop', 'stop', 'danger'), change());
    else show(el, h('span', { class: 'soft small' }, d.state + '…'));
  }
  return { el, banner, update };
}

async function dialog(collection, now, refresh) {
  const topic = await get(of(collection, '/topic'));
  const m = topic.meaning;
  const d = now();
  const stopped = d.state === 'stopped' && !d.shared;
  const from = (name) => d.settings.find((s) => s.name === name)?.from;
  const number = (id, value, props) => h('input', { type: 'number', id, min: 1, value: value ?? '', ...props });
  const inputs = {
    pages: number('set-pages', d.budget.pages), relevant: number('set-relevant', d.budget.relevant),
    minutes: number('set-minutes', d.budget.time_ms ? Math.round(d.budget.time_ms / 60000) : '', { step: 'any' }),
    concurrency: number('set-concurrency', m.fetch.concurrency), delay: number('set-delay', m.fetch.delay_ms, { min: 0 }),
  };
  const options = h('textarea', { class: 'code', rows: 3, id: 'set-options', placeholder: 'as in the topic file: name = value' });
  const seeds = h('textarea', { rows: 3, id: 'add-seeds', placeholder: 'https://… one per line' });
  const term = h('input', { id: 'add-term', placeholder: 'a word or a phrase' });
  const set = h('select', { id: 'add-set' }, ['content', 'genre', 'url', 'exclude'].map((s) => h('option', { value: s }, s)));
  const muted = new Set();
  const chip = (s, t) => {
    const c = h('span', { class: 'chip set-' + s }, t, h('button', { type: 'button', 'aria-label': `mute ${t}`, on: { click: () => { muted.add(t); c.remove(); } } }, '×'));
    return c;
  };
  const chips = h('div', { class: 'chips', style: { maxHeight: '9rem', overflow: 'auto' } }, ['genre', 'content', 'url'].map((s) => m[s].all.slice(0, 60).map((t) => chip(s, t))));
  const field = (name, control, origin) => h('label', { class: 'field' }, name, control, origin && h('small', { class: 'soft' }, `now: ${origin}`));
  const save = (start) => async () => {
    const whole = (x) => (x.value === '' ? null : Number(x.value));
    const change = {
      limits: { pages: whole(inputs.pages), relevant: whole(inputs.relevant), time_ms: inputs.minutes.value === '' ? null : Math.round(Number(inputs.minutes.value) * 60000) },
      fetch: { concurrency: whole(inputs.concurrency), delay_ms: whole(inputs.delay) },
      add_terms: term.value.trim() ? [{ set: set.value, term: term.value.trim() }] : [],
      mute_terms: [...muted],
      strategy: options.value.trim() || null,
    };
    try {
      const urls = seeds.value.split(/\s+/).filter(Boolean);
      if (urls.length) note((await post(of(collection, '/seeds'), { urls })).text);
      note((await patch(of(collection, '/settings'), change)).text);
      if (start) note((await post(of(collection, '/control'), { action: 'start', settings: {} })).text);
      box.close();
      await refresh();
    } catch (e) { told(e); }
  };
  const box = h('dialog', { id: 'settings', 'aria-labelledby': 'settings-title' },
    h('h2', { id: 'settings-title' }, stopped ? 'Change it and go on' : 'Change the running crawl'),
    h('p', { class: 'soft small' }, 'What you change is kept with the collection: a crawl that goes on later keeps it. Empty: no limit.'),
    h('div', { class: 'grid2' },
      field(`Stop after pages (${count(d.pages)} so far)`, inputs.pages, from('page limit')),
      field(`Stop after relevant pages (${count(d.relevant)} so far)`, inputs.relevant, from('limit of relevant pages')),
      field(`Stop after minutes (${span(d.elapsed_ms)} so far)`, inputs.minutes, from('time limit')),
      field('Requests in flight', inputs.concurrency, from('requests in flight')),
      field('Pause per host (ms)', inputs.delay, from('pause per host'))),
    h('div', { class: 'gaps' }, field('Add seeds', seeds)),
    h('div', { class: 'row' }, field('Add a term', term), field('to', set)),
    h('div', { class: 'gaps' }, h('p', { class: 'small soft' }, 'Terms (× mutes one):'), chips),
    field(`Options of the strategy (${m.strategy})`, options),
    h('div', { class: 'row gaps' },
      stopped && h('button', { class: 'primary', id: 'save-start', on: { click: save(true) } }, 'Apply and go on'),
      h('button', { class: stopped ? '' : 'primary', id: 'save', on: { click: save(false) } }, 'Apply'),
      h('button', { on: { click: () => box.close() } }, 'Cancel')));
  box.addEventListener('close', () => box.remove());
  document.body.append(box);
  box.showModal();
}
