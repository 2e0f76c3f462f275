// A table that grows as it is scrolled.

import { h, show, loading, failure, empty } from './dom.js';

/** `load(cursor)` gives {items, next}; `row(item)` makes a <tr>. */
export function endless({ columns, load, row, none }) {
  const body = h('tbody');
  const foot = h('div', {});
  const table = h('table', {}, h('thead', {}, h('tr', {}, columns.map((c) => h('th', { class: c.class, scope: 'col' }, c.name)))), body);
  const el = h('div', {}, h('div', { class: 'scroll rows' }, table), foot);
  const items = [];
  let next = null;
  let busy = false;
  let run = 0;
  async function more() {
    if (busy) return;
    busy = true;
    const mine = run;
    show(foot, loading());
    try {
      const got = await load(next);
      if (mine !== run) return;
      next = got.next;
      for (const item of got.items) {
        items.push(item);
        body.append(row(item, items.length - 1));
      }
      show(foot, items.length ? null : none ?? empty('Nothing here'));
    } catch (e) {
      if (mine === run) show(foot, failure(e), h('p', { class: 'empty' }, h('button', { on: { click: more } }, 'Try again')));
    } finally {
      if (mine === run) busy = false;
    }
    if (mine === run && next && near()) more();
  }
  const near = () => el.isConnected && foot.getBoundingClientRect().top < innerHeight + 600;
  const scrolled = () => { if (next && !busy && near()) more(); };
  addEventListener('scroll', scrolled, { passive: true });
  return {
    el, items, body,
    restart() { run++; busy = false; next = null; items.length = 0; body.replaceChildren(); return more(); },
    more: () => (next ? more() : Promise.resolve()),
    stop: () => removeEventListener('scroll', scrolled),
  };
}

/** A row that can be chosen with j and k. */
export function chooser(table, open) {
  let at = -1;
  const rows = () => table.body.children;
  function choose(i) {
    if (i < 0 || i >= rows().length) return;
    rows()[at]?.classList.remove('sel');
    rows()[at]?.removeAttribute('aria-selected');
    at = i;
    rows()[at].classList.add('sel');
    rows()[at].setAttribute('aria-selected', 'true');
    rows()[at].scrollIntoView({ block: 'nearest' });
    if (at > rows().length - 5) table.more();
  }
  return {
    get item() { return table.items[at]; },
    get row() { return rows()[at]; },
    choose,
    reset() { at = -1; },
    key(k) {
      if (k === 'j') { choose(at + 1); return true; }
      if (k === 'k') { choose(Math.max(0, at - 1)); return true; }
      if (k === 'Enter' && table.items[at]) { open(table.items[at]); return true; }
      return false;
    },
  };
}
