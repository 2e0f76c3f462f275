// Draws the charts of a report from its data, and sorts its tables. It stands after chart.js, in one script.

const data = JSON.parse(document.getElementById('data').textContent);
const kinds = { lines, histogram, ranking };
for (const place of document.querySelectorAll('[data-chart]')) {
  const { kind, values, mark, ...spec } = data[place.dataset.chart];
  const chart = kinds[kind](spec);
  place.prepend(chart.el);
  chart.update(values, mark ?? null);
  // The numbers are for readers without charts; beside small charts they would be in the way.
  for (const numbers of place.querySelectorAll('details')) {
    numbers.open = false;
    numbers.hidden = place.closest('.many') !== null;
  }
}

for (const table of document.querySelectorAll('table.sort')) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, i) =>
    head.querySelector('button')?.addEventListener('click', () => {
      const up = head.getAttribute('aria-sort') === 'descending';
      heads.forEach((h) => h.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      const key = (row) => {
        const v = row.cells[i].dataset.v ?? row.cells[i].textContent;
        return v !== '' && Number.isFinite(+v) ? +v : v;
      };
      const order = (x, y) =>
        typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y));
      const rows = [...table.tBodies[0].rows].sort((a, b) => order(key(a), key(b)) * (up ? 1 : -1));
      table.tBodies[0].append(...rows);
    }),
  );
}
