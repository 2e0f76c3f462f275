// Teaching the judge: one page at a time, yes or no, and what that changes.

import { h, show, count, fixed, badge, verdict, pieces, out, note, empty, meter } from './dom.js';
import { get, put, of } from './api.js';

const CHOICES = [['best', 'What teaches most'], ['near', 'Closest to the line'], ['top', 'The best'], ['relevant', 'Random relevant pages'], ['any', 'Random pages']];
/** Skipped pages are forgotten when there are too many for an address. */
const MOST_SKIPPED = 300;

export default async function teach({ collection, link, onKey, onLeave }) {
  let which = 'best';
  let question = null;
  let busy = false;
  let gone = false;
  let skipped = [];
  /** Answers of this visit: page, and what was said of it before. */
  const given = [];
  const card = h('section', { class: 'card s8 question', 'aria-live': 'polite' });
  const side = h('section', { class: 'card s4 taught' });
  const effect = h('p', { class: 'alert good', role: 'status', id: 'effect', hidden: true });
  const button = (text, k, cls, fn) => h('button', { class: cls, on: { click: fn } }, text, ' ', h('kbd', {}, k));
  const buttons = h('div', { class: 'answers' },
    button('Yes', 'y', 'primary yes', () => answer(true)), button('No', 'n', 'no', () => answer(false)),
    button('Skip', '?', '', () => skip()), button('Undo', 'u', '', () => undo()));

  function paint(data) {
    question = data.questions[0] ?? null;
    if (question) {
      const q = question;
      show(card,
        h('p', { class: 'crumb' }, badge(q.reason === 'spread' ? 'first yes' : q.reason), ' Asked because ', q.why, '.'),
        h('h2', { class: 'wrap' }, h('a', { href: link(collection, 'pages/' + q.id) }, q.title || '(no title)')),
        h('p', { class: 'url' }, out(q.url)),
        h('blockquote', { class: 'passage' }, q.passage.length ? pieces(q.passage) : '(no text)'),
        h('div', { class: 'likely' }, h('span', { class: 'num' }, 'probability ', h('b', {}, fixed(q.score)), ' · line ', fixed(data.threshold)), meter(q.score ?? 0, q.relevant ? 'leaf' : ''), verdict(q.relevant)),
        h('p', { class: 'ask' }, 'Is this a page you want?'), buttons);
    } else {
      show(card, empty('No page is left to ask about', skipped.length ? 'Some were skipped.' : 'When more pages were fetched there will be more questions.'),
        skipped.length > 0 && h('button', { on: { click: () => { skipped = []; next(); } } }, 'Ask about the skipped ones'), given.length > 0 && buttons);
    }
    const t = data.taught;
    const between = (name, s) => h('div', { class: 'between' }, h('span', {}, name), h('b', { class: 'num' }, fixed(s.value)),
      h('div', { class: 'range', title: `between ${fixed(s.low)} and ${fixed(s.high)} with 95 % certainty` }, h('i', { style: { left: 100 * s.low + '%', width: Math.max(1, 100 * (s.high - s.low)) + '%' } }), h('em', { style: { left: 100 * s.value + '%' } })),
      h('span', { class: 'small num' }, `${fixed(s.low)}–${fixed(s.high)}`));
    show(side,
      h('h3', {}, 'So far'),
      h('p', { class: 'num', id: 'progress' }, h('b', {}, count(t.answered)), ' answered, ', h('b', {}, count(t.yes)), ' yes'),
      h('p', { class: 'num' }, count(t.relevant), ' of ', count(data.pages), ' pages are relevant'),
      t.estimate
        ? h('div', { id: 'estimate' }, h('h3', {}, 'Estimate'), between('Precision', t.estimate.precision), between('Recall', t.estimate.recall), h('p', { class: 'small soft' }, 'Of all fetched pages, from what the judge thought before each answer.'))
        : h('p', { class: 'small soft', id: 'estimate' }, t.answered > 0 && t.yes === t.answered ? 'No estimate yet: every answer is yes. The judge needs some pages that are not wanted, too.'
          : t.answered > 0 && t.yes === 0 ? 'No estimate yet: every answer is no. The judge needs at least one page that is wanted.' : 'An estimate of precision and recall needs a few more answers.'),
      t.settled?.settled && h('p', { class: 'alert good', id: 'settled' }, `More labels would change little now: the last ${t.settled.answers} answers turned ${count(t.settled.changed)} pages, and the judge was right on ${t.settled.right} of ${t.settled.sure} pages it was sure of.`));
  }

  async function load(id) {
    const wanted = id === undefined ? `?which=${which}` + (skipped.length ? '&skip=' + skipped.join(',') : '') : '?id=' + id;
    const data = await get(of(collection, '/questions' + wanted));
    if (!gone) paint(data);
  }
  async function doing(work) {
    if (busy) return;
    busy = true;
    card.classList.add('busy');
    try { await work(); } catch (e) { note([e.what, e.hint].filter(Boolean).join(': ') || String(e), true); }
    busy = false;
    card.classList.remove('busy');
  }
  const next = () => doing(() => load());
  function told(text) { effect.textContent = text; effect.hidden = false; }
  const answer = (label) => question && doing(async () => {
    const { id, label: before } = question;
    const done = await put(of(collection, `/pages/${id}/label`), { label });
    given.push({ id, before });
    told(done.text);
    await load();
  });
  function skip() {
    if (!question || busy) return;
    skipped = [...skipped, question.id].slice(-MOST_SKIPPED);
    next();
  }
  const undo = () => doing(async () => {
    const last = given.pop();
    if (!last) { note('Nothing to undo: no answer was given here yet.'); return; }
    try {
      const done = await put(of(collection, `/pages/${last.id}/label`), { label: last.before });
      told(done.text);
    } catch (e) { given.push(last); throw e; }
    await load(last.id);
  });
  onKey((k) => {
    if (k === 'y') { answer(true); return true; }
    if (k === 'n') { answer(false); return true; }
    if (k === '?') { skip(); return true; }
    if (k === 'u') { undo(); return true; }
    return false;
  });
  onLeave(() => { gone = true; });
  await load();
  return h('div', {},
    h('div', { class: 'head' },
      h('div', {}, h('h1', {}, 'Teach'), h('p', { class: 'soft' }, 'Say of each page whether you want it. Every answer counts at once: the judge learns and judges all pages again.')),
      h('div', { class: 'row' }, h('label', {}, 'Ask about ', h('select', { id: 'which', on: { change: (e) => { which = e.target.value; next(); } } }, CHOICES.map(([value, text]) => h('option', { value }, text)))))),
    effect, h('div', { class: 'grid' }, card, side));
}
