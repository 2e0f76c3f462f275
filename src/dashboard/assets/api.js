// Talking to the server.

export class Problem extends Error {
  constructor(status, { what, because, hint } = {}) {
    super(what || 'the server did not answer');
    Object.assign(this, { status, what: what || 'The server did not answer', because, hint });
  }
}

async function ask(method, path, body) {
  const options = { method, headers: {}, credentials: 'same-origin' };
  if (body !== undefined) {
    options.headers['content-type'] = 'application/json';
    options.body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch('/api/v1' + path, options);
  } catch {
    throw new Problem(0, { what: 'The server does not answer', hint: 'Is `gleaner serve` still running?' });
  }
  const text = await answer.text();
  let data = null;
  try { data = JSON.parse(text); } catch { /* not JSON: said below */ }
  if (!answer.ok) throw new Problem(answer.status, data?.error ?? { what: 'The server answered with status ' + answer.status });
  return data;
}

/** `?a=1&b=2` of what is set. */
export function query(params) {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(params)) if (v !== '' && v !== null && v !== undefined) q.set(k, v);
  const text = q.toString();
  return text ? '?' + text : '';
}

export const get = (path) => ask('GET', path);
export const post = (path, body) => ask('POST', path, body);
export const put = (path, body) => ask('PUT', path, body);
export const patch = (path, body) => ask('PATCH', path, body);
export const of = (name, rest = '') => '/collections/' + encodeURIComponent(name) + rest;

/** Follows a live stream until the returned function is called. `state` is told when the line breaks and comes back. */
export function follow(path, each, state) {
  const source = new EventSource('/api/v1' + path);
  source.addEventListener('progress', (e) => { state?.(true); each(JSON.parse(e.data)); });
  source.onerror = () => state?.(false);
  return () => source.close();
}
