// One page: what it says, how it was judged, how it was found.

import { h, show, count, fixed, bytes, when, key, badge, verdict, pieces, out, note, meter } from './dom.js';
import { get, of } from './api.js';
import { lastList } from './pages.js';
import { say, LABEL_KEYS } from './label.js';
import { explained } from './words.js';

/** The pages from the seed to this one. */
export const pathOf = (e, threshold) =>
  h('ol', { class: 'path' }, e.path.map((s, i) =>
    h('li', { class: (s.score !== null && threshold !== null && s.score >= threshold ? 'yes ' : '') + (i === e.path.length - 1 ? 'here' : '') },
      i > 0 && h('div', { class: 'anchor' }, s.anchor ? `by the link “${s.anchor}”` : 'by a link without text'),
      h('div', { class: 'wrap' }, s.title || (i === 0 ? 'seed' : '')),
      h('div', { class: 'url' }, out(s.url)),
      s.score !== null && h('div', { class: 'small num' }, 'judged ' + fixed(s.score, 3)))));

/** Where a link was seen and what it scored there. */
export const sourcesOf = (list) => list.map((s) => {
  const most = Math.max(1e-9, ...s.reasons.map((r) => Math.abs(r.value ?? 0)));
  return h('div', { style: { marginBottom: '.8rem' } },
    h('div', { class: 'small wrap' }, s.anchor ? `“${s.anchor}” on ` : 'on ', s.parent.startsWith('http') ? out(s.parent) : s.parent, h('span', { class: 'soft' }, ' · priority ' + key(s.priority))),
    s.reasons.length > 0 && h('div', { class: 'bars' }, s.reasons.slice(0, 8).map((r) => h('div', { class: 'barrow', title: explained(r.label) }, h('span', {}, r.label), meter(Math.abs(r.value ?? 0) / most, r.value < 0 ? 'rust' : 'leaf'), h('span', { class: 'num' }, (r.value > 0 ? '+' : '') + fixed(r.value, 3))))));
});

export default async function page({ collection, id, link, onKey }) {
  const p = await get(of(collection, '/pages/' + encodeURIComponent(id)));
  const where = lastList.collection === collection ? lastList.ids.indexOf(p.id) : -1;
  const go = (step) => {
    const to = lastList.ids[where + step];
    if (where >= 0 && to !== undefined) location.hash = link(collection, 'pages/' + to);
  };
  const state = h('span', {});
  const yes = h('button', { on: { click: () => label(true) } }, 'Relevant ', h('kbd', {}, 'y'));
  const no = h('button', { class: 'no', on: { click: () => label(false) } }, 'Not relevant ', h('kbd', {}, 'n'));
  const effect = h('p', { class: 'alert good', hidden: true, role: 'status', id: 'effect' });
  function paint() {
    show(state, verdict(p.relevant), p.label !== null && [' ', badge(p.label ? 'you said yes' : 'you said no', p.label ? 'yes' : 'blocked')]);
    yes.setAttribute('aria-pressed', p.label === true);
    no.setAttribute('aria-pressed', p.label === false);
  }
  async function label(value) {
    try {
      const done = await say(collection, p.id, p.label === value ? null : value);
      p.label = p.label === value ? null : value;
      p.relevant = done.relevant ?? p.relevant;
      effect.textContent = done.text;
      effect.hidden = false;
      paint();
      reasons().catch(() => {});
    } catch (e) {
      note([e.what, e.hint].filter(Boolean).join(': '), true);
    }
  }
  onKey((k) => {
    if (k === 'j') { go(1); return true; }
    if (k === 'k') { go(-1); return true; }
    if (k === 'Escape') { history.back(); return true; }
    if (k in LABEL_KEYS) { label(LABEL_KEYS[k]); return true; }
    return false;
  });
  /** What each part of the score says: shares, or what it adds to the log-odds. */
  const measures = (list) => {
    const most = Math.max(1, ...list.map((x) => Math.abs(x.value ?? 0)));
    return list.map((x) => h('div', { class: 'barrow', title: explained(x.name) }, h('span', {}, x.name), meter(Math.abs(x.value ?? 0) / most, x.value < 0 ? 'rust' : 'leaf'), h('span', { class: 'num' }, fixed(x.value, 3))));
  };
  const parts = h('div', { class: 'bars', style: { margin: '.8rem 0' } }, measures(p.parts));
  const why = h('div', { id: 'reasons' });
  /** Reads what is kept of every page: later than the page itself. */
  async function reasons() {
    const r = await get(of(collection, `/pages/${p.id}/reasons`));
    const words = (list, cls) => h('div', { class: 'chips' }, list.map((w) => h('span', { class: 'chip ' + cls, title: `in the ${w.field}` }, w.field === 'text' ? w.word : `${w.word} (${w.field})`, h('span', { class: 'num soft' }, (w.value > 0 ? '+' : '') + fixed(w.value)))));
    if (r.parts.length) show(parts, measures(r.parts));
    show(why,
      r.words_for.length > 0 && [h('h3', {}, 'Words for it'), words(r.words_for, 'set-content')],
      r.words_against.length > 0 && [h('h3', {}, 'Words against it'), words(r.words_against, 'set-exclude')],
      r.like && h('p', { class: 'wrap' }, 'Like ', r.like.id === null ? 'an example of the topic' : h('a', { href: link(collection, 'pages/' + r.like.id) }, r.like.title || r.like.url), r.like.id === null ? (r.like.label ? ' of what is wanted' : ' of what is not wanted') : ` that you said ${r.like.label ? 'yes' : 'no'} to`, h('span', { class: 'soft num' }, ` (${fixed(100 * r.like.similarity, 0)} % alike)`)));
  }
  reasons().catch(() => {});
  paint();
  const e = p.explanation;
  const facts = [['Status', p.status], ['Type', p.media_type], ['Language', p.language || '–'], ['Fetched', when(p.fetched)], ['Size', bytes(p.bytes)], ['Answered in', p.elapsed_ms + ' ms'], ['Links', count(p.links_found)], ['Depth', p.depth]];
  const about = [['Authors', p.about.authors.join('; ')], ['Published', p.about.published], ['Changed', p.about.modified], ['Kind', p.about.kind], ['Publisher', p.about.publisher]].filter(([, value]) => value);
  const rows = (list) => h('table', {}, h('tbody', {}, list.map(([name, value]) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', { class: 'wrap' }, value)))));
  return h('div', {},
    h('div', { class: 'head' },
      h('div', { style: { minWidth: 0, flex: '1 1 24rem' } }, h('p', { class: 'crumb' }, h('a', { href: link(collection, 'pages') }, 'Pages'), ' / ', '#' + p.id), h('h1', { class: 'wrap' }, p.title || '(no title)'), h('p', { class: 'url' }, out(p.url))),
      h('div', { class: 'row' }, yes, no)),
    effect,
    h('div', { class: 'grid' },
      h('section', { class: 'card s8' },
        h('div', { class: 'row' }, state, h('span', { class: 'num' }, 'score ', h('b', {}, fixed(p.score, 3)), ' · threshold ', fixed(p.threshold, 3))),
        p.excluded && h('p', { class: 'alert bad' }, `Ruled out: it contains the excluded term “${p.excluded}”`),
        parts,
        h('div', { class: 'chips' }, p.hits.map((x) => h('span', { class: 'chip set-' + x.set }, `${x.term} ×${x.count}`))),
        why,
        h('h2', { style: { margin: '1.2rem 0 .5rem' } }, 'Text'),
        p.text.length ? h('div', { class: 'pagetext', tabindex: 0 }, pieces(p.text), p.text_cut && h('p', { class: 'soft' }, 'The text goes on; the rest is not shown.')) : h('p', { class: 'soft' }, 'No text was found on this page.')),
      h('div', { class: 's4', style: { display: 'grid', gap: '1rem', alignContent: 'start' } },
        h('section', { class: 'card' }, h('h2', {}, 'How it was found'), pathOf(e, p.threshold)),
        h('section', { class: 'card' }, h('h2', {}, 'Why it had its place'), h('p', { class: 'small soft' }, `strategy ${e.strategy}, priority ${key(e.priority)}`), sourcesOf(e.sources), e.rescored_by && h('p', { class: 'small wrap' }, 're-scored because of ', out(e.rescored_by))),
        about.length > 0 && h('section', { class: 'card', id: 'about' }, h('h2', {}, 'What it says of itself'), rows(about)),
        h('section', { class: 'card' }, h('h2', {}, 'What was kept'),
          rows(facts),
          e.duplicate_of && h('p', { class: 'small wrap' }, 'Same content as ', out(e.duplicate_of)),
          e.near_duplicate_of && h('p', { class: 'small wrap' }, 'Nearly the same text as ', out(e.near_duplicate_of)),
          h('p', {}, p.archived ? h('a', { class: 'button', href: '/api/v1' + of(collection, `/pages/${p.id}/warc`), download: '' }, 'Download WARC record') : h('span', { class: 'soft' }, 'Not in the archive.')))),
      p.links.length > 0 && h('section', { class: 'card s12' }, h('h2', {}, 'Links it led to'), h('div', { class: 'scroll' }, h('table', {}, h('tbody', {}, p.links.map((l) => h('tr', {}, h('td', { class: 'wrap' }, l.page ? h('a', { href: link(collection, 'pages/' + l.id) }, l.url) : l.url), h('td', {}, l.relevant === null ? badge(l.state, '') : verdict(l.relevant))))))))));
}
