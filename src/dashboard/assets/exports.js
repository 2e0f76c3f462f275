// A collection as a file.

import { h } from './dom.js';
import { of, query } from './api.js';

const FORMATS = [['csv', 'CSV: for spreadsheets'], ['jsonl', 'JSON lines: one page per line'],
  ['parquet', 'Parquet: for data frames'], ['warc', 'WARC: the archived pages, byte for byte']];

/** Asks which, and downloads it. */
export function exportDialog(collection) {
  const format = h('select', { id: 'export-format' }, FORMATS.map(([value, text]) => h('option', { value }, text)));
  const all = h('input', { type: 'checkbox', id: 'export-all' });
  const copies = h('input', { type: 'checkbox', id: 'export-copies' });
  const go = h('a', { class: 'button primary', id: 'export-go', download: '', on: { click: () => box.close() } }, 'Download');
  const aim = () => {
    const wanted = { format: format.value, all: all.checked ? 'true' : '', copies: copies.checked ? 'true' : '' };
    go.setAttribute('href', '/api/v1' + of(collection, '/export') + query(wanted));
  };
  [format, all, copies].forEach((el) => el.addEventListener('change', aim));
  aim();
  const box = h('dialog', { id: 'export', 'aria-labelledby': 'export-title' },
    h('h2', { id: 'export-title' }, 'Export'),
    h('p', { class: 'soft small' }, 'Relevant pages with title, text, address, score and labels.'),
    h('label', { class: 'field' }, 'Format', format),
    h('p', {}, h('label', { class: 'row' }, all, 'also pages that are not relevant')),
    h('p', {}, h('label', { class: 'row' }, copies, 'also copies of pages in it')),
    h('div', { class: 'row' }, go, h('button', { on: { click: () => box.close() } }, 'Cancel')));
  box.addEventListener('close', () => box.remove());
  document.body.append(box);
  box.showModal();
}
