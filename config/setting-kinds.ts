import { z } from 'zod';

// What a variable may hold, each kind with the words that say what is accepted.

export function whole(least: number, most: number, unit: string) {
  const message = `a whole number from ${least} to ${most} (${unit})`;
  return z
    .string()
    .regex(/^[0-9]{1,15}$/, message)
    .transform(Number)
    .refine((value) => value >= least && value <= most, message);
}

export function list<Item extends z.ZodType<string, string>>(item: Item) {
  return z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(item).min(1));
}

/** One word for every environment, or `environment=word` pairs. */
export function perEnvironment<Word extends string>(words: readonly [Word, ...Word[]]) {
  const message = `${words.join(' or ')}, or pairs like dev=${words[0]},production=${words[1] ?? words[0]}`;
  const isWord = (value: string | undefined): value is Word =>
    (words as readonly string[]).includes(value ?? '');
  return z.string().transform((text, check): Word | Record<string, Word> => {
    if (isWord(text)) return text;
    const pairs = text.split(',').map((pair) => pair.split('=').map((part) => part.trim()));
    if (pairs.every((pair) => pair.length === 2 && isWord(pair[1]))) return Object.fromEntries(pairs);
    check.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
}

/** Gives every environment its word; those not named keep their default. */
export function spread<Word extends string>(
  given: Word | Record<string, Word>,
  environments: readonly string[],
  defaults: Readonly<Record<string, Word>>,
  otherwise: Word,
): Record<string, Word> {
  const wordOf = (name: string) =>
    typeof given === 'string' ? given : (given[name] ?? defaults[name] ?? otherwise);
  return Object.fromEntries(environments.map((name) => [name, wordOf(name)]));
}

/** The bytes of a secret: after `whsec_` as base64, as Standard Webhooks write one, else those of its letters. */
export function webhookSecret() {
  const message = 'whsec_ and base64, or any letters';
  return z.string().transform((text, check): Uint8Array => {
    const coded = /^whsec_(.*)$/s.exec(text)?.[1];
    const bytes = coded === undefined ? new TextEncoder().encode(text) : fromBase64(coded);
    if (bytes !== null && bytes.length > 0) return bytes;
    check.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
}

function fromBase64(text: string): Uint8Array | null {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) return null;
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

export function isPostgresUrl(text: string): boolean {
  const protocol = URL.canParse(text) ? new URL(text).protocol : '';
  return protocol === 'postgres:' || protocol === 'postgresql:';
}

export function isWebUrl(text: string): boolean {
  const protocol = URL.canParse(text) ? new URL(text).protocol : '';
  return protocol === 'http:' || protocol === 'https:';
}

/** Whether an address can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.[0-9]{1,3}){3}$/.test(host);
}

/** Whether at most so many letters added, dropped, exchanged or swapped with the next make one word of the other. */
export function isNear(from: string, to: string, edits: number): boolean {
  if (from === to || edits === 0) return from === to;
  const [dropped, added] = [from.slice(1), to.slice(1)];
  if (from[0] === to[0]) return isNear(dropped, added, edits);
  const isSwapped = from[0] === to[1] && from[1] === to[0];
  return (
    isNear(dropped, to, edits - 1) ||
    isNear(from, added, edits - 1) ||
    isNear(dropped, added, edits - 1) ||
    (isSwapped && isNear(dropped.slice(1), added.slice(1), edits - 1))
  );
}
