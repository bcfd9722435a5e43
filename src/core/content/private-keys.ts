import { characterSet, endOfRun, type CharacterSet } from './scan.ts';
import type { Secret } from './secret-formats.ts';

/** Private key blocks with something in them; a marker that is only mentioned passes. */
export function privateKeysIn(text: string): Secret[] {
  const secrets: Secret[] = [];
  const marker = '-----BEGIN ';
  let start = text.indexOf(marker);
  while (start !== -1) {
    const label = text.slice(start + marker.length, start + marker.length + 50);
    const labelEnd = label.indexOf('-----');
    const bodyStart = start + marker.length + Math.max(0, labelEnd) + 5;
    const bodyEnd = indexOrEnd(text, '-----', bodyStart);
    if (
      labelEnd !== -1 &&
      label.slice(0, labelEnd).includes('PRIVATE KEY') &&
      holdsKey(text.slice(bodyStart, bodyEnd))
    ) {
      secrets.push({ kind: 'a private key', start, end: bodyEnd });
    }
    start = text.indexOf(marker, labelEnd === -1 ? start + marker.length : bodyEnd);
  }
  return secrets;
}

/** A whole line of Base64, or 40 characters of it anywhere; JSON writes the line ends as a backslash and an n. */
function holdsKey(body: string): boolean {
  if (longestRun(body, base64) >= 40) return true;
  const lines = body.split(/\\r|\\n|[\r\n]/).slice(1);
  return lines.some((line) => /^[ \t>]*[A-Za-z0-9+/=]{10,}[ \t"',]*$/.test(line));
}

const base64 = characterSet(/[A-Za-z0-9+/=]/);

function longestRun(text: string, set: CharacterSet): number {
  let longest = 0;
  for (let index = 0; index < text.length; index += 1) {
    const end = endOfRun(text, index, set);
    longest = Math.max(longest, end - index);
    index = end;
  }
  return longest;
}

function indexOrEnd(text: string, sought: string, from: number): number {
  const index = text.indexOf(sought, from);
  return index === -1 ? text.length : index;
}
