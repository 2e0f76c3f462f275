// Changes single keys of a topic file and leaves everything else as it is written.

/** A value as TOML. */
export const literal = (v) => (Array.isArray(v) ? '[' + v.map(literal).join(', ') + ']' : JSON.stringify(v).replaceAll('\u007f', '\\u007f'));

/** Where the value that begins in line `i` at column `at` ends: its last line, and the comment behind it. */
function valueEnd(lines, i, at) {
  let depth = 0;
  let quote = null;
  for (; i < lines.length; i++, at = 0) {
    const line = lines[i];
    for (let c = at; c < line.length; c++) {
      if (quote) {
        if (quote[0] === '"' && line[c] === '\\') c++;
        else if (line.startsWith(quote, c)) { c += quote.length - 1; quote = null; }
      } else if (line.startsWith('"""', c) || line.startsWith("'''", c)) { quote = line.slice(c, c + 3); c += 2; }
      else if (line[c] === '"' || line[c] === "'") quote = line[c];
      else if (line[c] === '[' || line[c] === '{') depth++;
      else if (line[c] === ']' || line[c] === '}') depth--;
      else if (line[c] === '#') { if (!depth) return { to: i, comment: line.slice(c) }; break; }
    }
    if (quote?.length === 1) quote = null;
    if (!depth && !quote) return { to: i, comment: '' };
  }
  return { to: lines.length - 1, comment: '' };
}

/** The keys of a file: which section, which lines; and where each section ends. */
function keys(lines) {
  const found = [];
  const ends = { '': 0 };
  let section = '';
  for (let i = 0; i < lines.length; i++) {
    const head = /^\s*\[([^[\]]+)\]\s*(#.*)?$/.exec(lines[i]);
    const key = /^\s*([A-Za-z0-9_-]+)\s*=/.exec(lines[i]);
    if (head) { section = head[1].trim(); ends[section] = i + 1; } else if (key) {
      const { to, comment } = valueEnd(lines, i, key[0].length);
      found.push({ section, key: key[1], from: i, to, comment });
      ends[section] = to + 1;
      i = to;
    }
  }
  return { found, ends };
}

/** The text with one key set; `null`, an empty text and an empty list take it away. */
export function setKey(text, section, key, value) {
  const lines = text.split('\n');
  const { found, ends } = keys(lines);
  const old = found.find((k) => k.section === section && k.key === key);
  const gone = value === null || value === '' || (Array.isArray(value) && !value.length);
  const line = gone ? [] : [`${key} = ${literal(value)}` + (old?.comment ? '  ' + old.comment : '')];
  if (old) lines.splice(old.from, old.to - old.from + 1, ...line);
  else if (gone) return text;
  else if (section in ends) lines.splice(ends[section], 0, ...line);
  else {
    while (lines.length && !lines.at(-1).trim()) lines.pop();
    lines.push('', `[${section}]`, ...line, '');
  }
  return lines.join('\n');
}
