// Saying what a page is, and what that changes.

import { note } from './dom.js';
import { put, of } from './api.js';

/** true, false, or null to take it back. */
export async function say(collection, id, label) {
  const effect = await put(of(collection, `/pages/${id}/label`), { label });
  note(effect.text);
  return effect;
}

export const LABEL_KEYS = { y: true, n: false, u: null };
