// The words of the field, from the same file as the manual's.

import { h } from './dom.js';

export default async function glossary() {
  const text = await (await fetch('/assets/glossary.md')).text();
  const rows = text.split('\n').map((line) => /^\| \*\*(.+?)\*\* \| (.+) \|$/.exec(line)).filter(Boolean);
  return h('div', {},
    h('div', { class: 'head' }, h('h1', {}, 'Words')),
    h('section', { class: 'card' }, h('dl', { class: 'words' },
      rows.flatMap(([, word, said]) => [h('dt', {}, word), h('dd', {}, said.replaceAll('`', ''))]))));
}
