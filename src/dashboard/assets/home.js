// Every collection under the folder.

import { h, count, percent, badge, empty } from './dom.js';
import { get } from './api.js';

export default async function home({ link }) {
  const { collections } = await get('/collections');
  const card = (c) =>
    h('a', { class: 'card', href: link(c.name, 'overview') },
      h('div', { class: 'row' }, h('h2', { class: 'wrap' }, c.title), c.running && badge('running')),
      h('p', { class: 'soft small wrap' }, c.name),
      c.problem ? h('p', { class: 'alert bad' }, c.problem) : h('p', {}, h('b', {}, count(c.relevant)), ' relevant of ', count(c.pages), ' pages', c.pages ? ` (${percent(c.relevant / c.pages)})` : ''),
      h('p', { class: 'soft small' }, count(c.pending), ' URLs pending'));
  return h('div', {},
    h('div', { class: 'head' }, h('h1', {}, 'Collections'), h('span', { class: 'spread' }), h('a', { class: 'button', href: '#/new' }, 'New crawl')),
    collections.length
      ? h('div', { class: 'shelf' }, collections.map(card))
      : empty('No collections yet', 'Start one here with “New crawl”, or with `gleaner crawl` in this folder.', '`gleaner demo` makes one without internet.'));
}
