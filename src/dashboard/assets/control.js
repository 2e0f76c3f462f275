// Steering a crawl: start, pause, resume, stop, and what can be changed while it runs.

import { h, show, note, count } from './dom.js';
import { get, post, patch, of } from './api.js';

const told = (e) => note([e.what, e.because, e.hint].filter(Boolean).join(' — '), true);

/** Buttons beside the title. `update` is told of every new state. */
export function controls({ collection, get: now, refresh }) {
  const el = h('div', { class: 'row', id: 'controls' });
  let shown = '';
  const act = (action) => async () => {
    try {
      note((await post(of(collection, '/control'), { action })).text);
      await refresh();
    } catch (e) { told(e); }
  };
  function update(d) {
    const state = d.state + d.controlled + d.paused;
    if (state === shown) return;
    shown = state;
    const button = (text, action, cls) => h('button', { class: cls ?? '', id: 'do-' + action, on: { click: act(action) } }, text);
    const change = h('button', { id: 'change', on: { click: () => dialog(collection, now, refresh).catch(told) } }, 'Change…');
    if (d.shared && d.state === 'stopped') show(el, h('span', { class: 'soft small' }, 'no worker is running'), d.paused && button('Resume', 'resume', 'primary'), change);
    else if (d.state === 'stopped') show(el, button('Go on', 'start', 'primary'));
    else if (!d.controlled) show(el, h('span', { class: 'soft small' }, 'run by another process: watching only'));
    else if (d.state === 'paused') show(el, button('Resume', 'resume', 'primary'), button('Stop', 'stop', 'danger'), change);
    else if (d.state === 'running') show(el, button('Pause', 'pause'), button('Stop', 'stop', 'danger'), change);
    else show(el, h('span', { class: 'soft small' }, d.state + '…'));
  }
  return { el, update };
}

async function dialog(collection, now, refresh) {
  const topic = await get(of(collection, '/topic'));
  const m = topic.meaning;
  const d = now();
  const number = (id, value, props) => h('input', { type: 'number', id, min: 1, value: value ?? '', ...props });
  const inputs = {
    pages: number('set-pages', d.budget.pages), relevant: number('set-relevant', d.budget.relevant),
    minutes: number('set-minutes', d.budget.time_ms ? Math.round(d.budget.time_ms / 60000) : ''),
    concurrency: number('set-concurrency', m.fetch.concurrency), delay: number('set-delay', m.fetch.delay_ms, { min: 0 }),
  };
  const options = h('textarea', { class: 'code', rows: 3, id: 'set-options', placeholder: 'options of the strategy, as in the topic file: name = value' });
  const seeds = h('textarea', { rows: 3, id: 'add-seeds', placeholder: 'https://… one per line' });
  const term = h('input', { id: 'add-term', placeholder: 'a word or a phrase' });
  const set = h('select', { id: 'add-set' }, ['content', 'genre', 'url', 'exclude'].map((s) => h('option', { value: s }, s)));
  const muted = new Set();
  const chip = (s, t) => {
    const c = h('span', { class: 'chip set-' + s }, t, h('button', { type: 'button', 'aria-label': `mute ${t}`, on: { click: () => { muted.add(t); c.remove(); } } }, '×'));
    return c;
  };
  const chips = h('div', { class: 'chips', style: { maxHeight: '9rem', overflow: 'auto' } }, ['genre', 'content', 'url'].map((s) => m[s].all.slice(0, 60).map((t) => chip(s, t))));
  const field = (name, control) => h('label', { class: 'field' }, name, control);
  const save = async () => {
    const whole = (x) => (x.value === '' ? null : Number(x.value));
    const change = {
      limits: { pages: whole(inputs.pages), relevant: whole(inputs.relevant), time_ms: inputs.minutes.value === '' ? null : Number(inputs.minutes.value) * 60000 },
      fetch: { concurrency: whole(inputs.concurrency), delay_ms: whole(inputs.delay) },
      add_terms: term.value.trim() ? [{ set: set.value, term: term.value.trim() }] : [],
      mute_terms: [...muted],
      strategy: options.value.trim() || null,
    };
    try {
      const urls = seeds.value.split(/\s+/).filter(Boolean);
      if (urls.length) note((await post(of(collection, '/seeds'), { urls })).text);
      note((await patch(of(collection, '/settings'), change)).text);
      box.close();
      await refresh();
    } catch (e) { told(e); }
  };
  const box = h('dialog', { id: 'settings', 'aria-labelledby': 'settings-title' },
    h('h2', { id: 'settings-title' }, 'Change the running crawl'),
    h('p', { class: 'soft small' }, 'What you change is kept with the collection: a crawl that goes on later keeps it.'),
    h('div', { class: 'grid2' },
      field('Stop after pages', inputs.pages), field('Stop after relevant pages', inputs.relevant), field('Stop after minutes', inputs.minutes),
      field('Requests in flight', inputs.concurrency), field('Pause per host (ms)', inputs.delay)),
    h('div', { style: { margin: '1rem 0' } }, field('Add seeds', seeds)),
    h('div', { class: 'row' }, field('Add a term', term), field('to', set)),
    h('div', { style: { margin: '1rem 0' } }, h('p', { class: 'small soft' }, 'Terms (× mutes one):'), chips),
    field(`Options of the strategy (${m.strategy})`, options),
    h('div', { class: 'row', style: { marginTop: '1rem' } }, h('button', { class: 'primary', id: 'save', on: { click: save } }, 'Apply'), h('button', { on: { click: () => box.close() } }, 'Cancel')));
  box.addEventListener('close', () => box.remove());
  document.body.append(box);
  box.showModal();
}
export { count };
