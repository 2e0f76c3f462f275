// What the short names mean: shown when the pointer rests on one.

const KINDS = {
  dns: 'the host’s name is not known to the name servers',
  connect: 'no connection to the host',
  tls: 'the host’s certificate is not valid, or no safe connection was possible',
  timeout: 'the host did not answer in time',
  slow: 'the answer came too slowly and was given up',
  protocol: 'the answer was not proper HTTP',
  guarded: 'an address inside a private network: the guard refused it',
  unsupported: 'an address of a kind that is not fetched',
  unwanted: 'not a type of document that is read',
  'too-large': 'longer than [limits] page_size; the rest was cut off',
  postponed: 'the host had no time; it is asked again',
  'document-limits': 'a document that cannot be read within the limits on time and memory',
  'document-encrypted': 'a document that only a password opens',
  'document-scanned': 'a document whose pages are scanned pictures, without text',
  crashed: 'reading it ended the program twice; it is left alone',
  'http-error': 'the server answered that there is no such page, or that it failed',
  unreachable: 'no answer after all tries',
  'robots-denied': 'the host’s robots.txt forbids it',
  'robots-unavailable': 'the host’s robots.txt could not be read, so nothing is asked of it for a while',
  'redirect-loop': 'it redirects without end',
  refused: 'refused by the guard, or not fetchable at all',
  'out-of-scope': 'outside the topic’s scope',
  dropped: 'a limit on pages per host or on variants of an address was reached',
  nofollow: 'the page asks not to follow this link',
  'sitemap-limit': 'one sitemap more than [limits] sitemaps allows',
};
const REASONS = {
  start: 'what a link is worth before anything is known of it',
  'page it is on': 'how relevant the page with the link is',
  URL: 'the words of the link’s address',
  anchor: 'the words of the link',
  'words around it': 'the words before and after the link',
  heading: 'the heading above the link',
  directory: 'pages of the same directory that were fetched, and how many were relevant',
  'tag path': 'links at the same place of pages with the same build, and how many led to relevant pages',
  neighbours: 'links beside it that were followed, and how many led to relevant pages',
  host: 'pages of the same host that were fetched, and how many were relevant',
  'place in the page and the site': 'how deep the link is, and where on the page it stands',
  'any page': 'what a page of the usual length is worth that has no word of the topic',
  'genre and subject': 'how many terms of the kind and of the subject the page has, and how often',
  'the weaker of the two': 'a wanted page has both: what the weaker of kind and subject adds',
  'words of the address': 'words of the topic in the page’s address',
  length: 'a long page has every word: longer than usual takes away, shorter adds',
  'subject in the title': 'terms of the subject in the page’s title',
  'words of the topic\'s name': 'words of the topic’s name and description in the page’s text',
  'name in the title': 'words of the topic’s name and description in the page’s title',
  'name in the address': 'words of the topic’s name and description in the page’s address',
  'learned from labels': 'what your answers taught the judge',
  list: 'terms of the built-in list of this language, weighted',
};
const STATES = {
  ready: 'may be asked now', waiting: 'it was asked a moment ago and rests for its pause', idle: 'nothing of it is pending',
  'backing off': 'it failed, so it is left alone for a while', blocked: 'closed: it failed too often, or forbids robots',
};

/** What a short name means, or nothing. */
export function meaning(name) {
  const status = /^http-(\d+)$/.exec(name);
  if (status) return `the server answered with status ${status[1]}`;
  if (name.startsWith('scope: ')) return `outside the topic’s scope: its ${name.slice(7).replace('-', ' ')} is not wanted`;
  const head = name.split(':')[0];
  return KINDS[name] ?? REASONS[name] ?? STATES[name] ?? KINDS[head] ?? REASONS[head] ?? null;
}
/** For a `title`: the name with what it means. */
export const explained = (name) => (meaning(name) ? `${name}: ${meaning(name)}` : name);
