// A collection as a file.

import { h } from './dom.js';
import { of, query } from './api.js';

const FORMATS = [['csv', 'CSV: for spreadsheets'], ['jsonl', 'JSON lines: one page per line'],
  ['parquet', 'Parquet: for data frames'], ['warc', 'WARC: the archived pages, byte for byte'],
  ['markdown', 'Markdown: text with headings and lists'], ['chunks', 'Chunks: pieces for language models'],
  ['bulk', 'Bulk: for OpenSearch and Elasticsearch'], ['rss', 'RSS: a feed of the newest pages'],
  ['wacz', 'WACZ: archived pages for replay in a browser'], ['cdxj', 'CDXJ: an index of the archive files']];

/** Asks which, and downloads it. */
export function exportDialog(collection) {
  const format = h('select', { id: 'export-format' }, FORMATS.map(([value, text]) => h('option', { value }, text)));
  const all = h('input', { type: 'checkbox', id: 'export-all' });
  const copies = h('input', { type: 'checkbox', id: 'export-copies' });
  const where = h('input', { id: 'export-where', placeholder: 'language=en; score>=0.8; host=*.example.org' });
  const since = h('input', { id: 'export-since', placeholder: '7d, or 2026-11-01' });
  const columns = h('input', { id: 'export-columns', placeholder: 'all, or url, title, score, …' });
  const go = h('a', { class: 'button primary', id: 'export-go', download: '', on: { click: () => box.close() } }, 'Download');
  const aim = () => {
    const wanted = { format: format.value, all: all.checked ? 'true' : '', copies: copies.checked ? 'true' : '',
      where: where.value.trim(), since: since.value.trim(), columns: columns.value.trim() };
    go.setAttribute('href', '/api/v1' + of(collection, '/export') + query(wanted));
  };
  [format, all, copies, where, since, columns].forEach((el) => el.addEventListener('input', aim));
  aim();
  const box = h('dialog', { id: 'export', 'aria-labelledby': 'export-title' },
    h('h2', { id: 'export-title' }, 'Export'),
    h('p', { class: 'soft small' }, 'Relevant pages with title, text, address, score and labels.'),
    h('label', { class: 'field' }, 'Format', format),
    h('p', {}, h('label', { class: 'row' }, all, 'also pages that are not relevant')),
    h('p', {}, h('label', { class: 'row' }, copies, 'also copies of pages in it')),
    h('div', { class: 'grid2' }, h('label', { class: 'field' }, 'Only pages like', where),
      h('label', { class: 'field' }, 'Fetched since', since), h('label', { class: 'field' }, 'Columns', columns)),
    h('div', { class: 'row gaps' }, go, h('button', { on: { click: () => box.close() } }, 'Cancel')));
  box.addEventListener('close', () => box.remove());
  document.body.append(box);
  box.showModal();
}
