import { privateKeysIn } from './private-keys.ts';
import {
  documentedExamples,
  namedFormats,
  tokenFormats,
  type Alphabet,
  type NamedFormat,
  type Secret,
  type TokenFormat,
} from './secret-formats.ts';
import { characterSet, endOfRun, isIn, type CharacterSet } from './scan.ts';
import { tally, type FileFaultCode, type Sighting } from './sighting.ts';
import { placeIn, type Place, type View } from './views.ts';

/** What was found, and every stretch of the text that no message may show. */
export interface Secrets {
  readonly faults: readonly Sighting<FileFaultCode>[];
  readonly places: readonly Place[];
}

/**
 * High-confidence secrets in a plain view: versions are kept for ever, so a pasted key cannot be taken back (W52). Only
 * formats that nothing else looks like; the issuers' own examples pass.
 */
export function findSecrets(plain: View): Secrets {
  const { text } = plain;
  const lower = text.toLowerCase();
  const found = [
    ...privateKeysIn(text),
    ...tokensIn(text),
    ...namedFormats.flatMap((format) => namedKeysIn(text, lower, format)),
    ...azureClientSecretsIn(text),
  ].map((secret) => ({ kind: secret.kind, place: placeIn(plain, secret.start, secret.end - secret.start) }));
  const kinds = [...new Set(found.map((secret) => secret.kind))];
  return {
    faults: kinds.flatMap((kind) => {
      const seen = tally('secret_found', kind);
      for (const secret of found) if (secret.kind === kind) seen.see(secret.place);
      return seen.result();
    }),
    places: found.map((secret) => secret.place),
  };
}

/** One pass over the places where a token can begin: never in the middle of a word or number. */
function tokensIn(text: string): Secret[] {
  const secrets: Secret[] = [];
  for (let index = 0; index < text.length;) {
    if (!isIn(firstSigns, text, index) || isIn(alphabets.alphanumeric, text, index - 1)) {
      index += 1;
      continue;
    }
    const { secret, end } = tokenAt(text, index);
    if (secret !== null) secrets.push(secret);
    index = end;
  }
  return secrets;
}

/** A longer run that is no token is skipped whole, or runs of "sk-ant-" would be read again from each of its parts. */
const longestReread = 200;

function tokenAt(text: string, start: number): { secret: Secret | null; end: number } {
  let end = start + 1;
  for (const format of formatsByFirst.get(text.charAt(start)) ?? []) {
    if (!text.startsWith(format.prefix, start)) continue;
    const bodyStart = start + format.prefix.length;
    const bodyEnd = endOfRun(text, bodyStart, alphabets[format.alphabet]);
    const fits = isToken(text.slice(bodyStart, bodyEnd), format);
    if (fits) return { secret: { kind: format.kind, start, end: bodyEnd }, end: bodyEnd };
    if (bodyEnd - start > longestReread) end = Math.max(end, bodyEnd);
  }
  return { secret: null, end };
}

function isToken(body: string, format: TokenFormat): boolean {
  const fits = format.exact === true ? body.length === format.length : body.length >= format.length;
  return fits && !isExample(body) && (format.also === undefined || format.also(body));
}

/** `name`, a sign of assignment with quotes and blanks around it, and a key of exactly the right length. */
function namedKeysIn(text: string, lower: string, format: NamedFormat): Secret[] {
  const secrets: Secret[] = [];
  let name = lower.indexOf(format.name);
  while (name !== -1) {
    const start = endOfRun(text, name + format.name.length, assignment);
    const end = endOfRun(text, start, alphabets[format.alphabet]);
    if (end - start === format.length && !isExample(text.slice(start, end)))
      secrets.push({ kind: format.kind, start, end });
    name = lower.indexOf(format.name, end);
  }
  return secrets;
}

const assignment = characterSet(/[\s"'`=:>|]/);

/** Three characters, a digit, "Q~" and 31 to 34 more: the shape of every client secret of Microsoft Entra. */
function azureClientSecretsIn(text: string): Secret[] {
  const secrets: Secret[] = [];
  let mark = text.indexOf('Q~');
  while (mark !== -1) {
    const start = mark - 4;
    const end = endOfRun(text, mark + 2, alphabets.tilde);
    const long = end - mark - 2;
    if (/^[A-Za-z0-9_~.-]{3}[0-9]$/.test(text.slice(Math.max(0, start), mark)) && long >= 31 && long <= 34) {
      if (!isExample(text.slice(start, end))) secrets.push({ kind: 'a Microsoft client secret', start, end });
    }
    mark = text.indexOf('Q~', end);
  }
  return secrets;
}

function isExample(body: string): boolean {
  return /EXAMPLE|xxxxxxxx/i.test(body) || documentedExamples.some((example) => body === example);
}

const alphabets: Readonly<Record<Alphabet, CharacterSet>> = {
  alphanumeric: characterSet(/[A-Za-z0-9]/),
  upper: characterSet(/[A-Z0-9]/),
  hex: characterSet(/[A-Fa-f0-9]/),
  base64: characterSet(/[A-Za-z0-9+/=]/),
  word: characterSet(/[A-Za-z0-9_]/),
  dashed: characterSet(/[A-Za-z0-9_-]/),
  dotted: characterSet(/[A-Za-z0-9_.-]/),
  tilde: characterSet(/[A-Za-z0-9_.~-]/),
};

/** What a token can begin with, so that most characters are passed with one look. */
const formatsByFirst: ReadonlyMap<string, readonly TokenFormat[]> = Map.groupBy(tokenFormats, ({ prefix }) =>
  prefix.charAt(0),
);
const firstSigns = characterSet(new RegExp(`[${[...formatsByFirst.keys()].join('')}]`));
