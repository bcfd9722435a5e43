import {
  advance,
  complain,
  expected,
  lineOf,
  mark,
  type Reading,
  scanTrouble,
  startReading,
  tokenText,
  unclosedText,
} from './json-tokens.ts';
import { note, type RegistryNotes, showPath } from './notes.ts';

/**
 * A JSON value with the line it starts on, from 1. Objects keep their members as a list, so that no key can mean
 * anything to JavaScript; numbers keep their source text, which says what a double cannot.
 */
export type JsonNode =
  | { readonly kind: 'object'; readonly line: number; readonly members: readonly JsonMember[] }
  | { readonly kind: 'list'; readonly line: number; readonly items: readonly JsonNode[] }
  | { readonly kind: 'text'; readonly line: number; readonly value: string }
  | { readonly kind: 'number'; readonly line: number; readonly source: string }
  | { readonly kind: 'boolean'; readonly line: number; readonly value: boolean }
  | { readonly kind: 'null'; readonly line: number };
type TextNode = Extract<JsonNode, { kind: 'text' }>;

/** One key of an object, decoded, and its value; a key may stand twice. */
export interface JsonMember {
  readonly key: string;
  readonly value: JsonNode;
}

/** Levels of nesting: a registry has five, and reading is recursive. */
export const maxDepth = 64;

/**
 * The document, or null where its structure cannot be known. Whatever `JSON.parse` refuses is noted as a fault
 * (`registry_bad_json`), and so is what it accepts in silence: the same key twice at any depth (`duplicate_key`) and
 * more than 64 levels (`registry_bad_shape`).
 *
 * Comments, commas before a closing bracket and bad escapes are noted and read over, so that the rest is looked at
 * too. At the first thing that could mean anything reading stops: further faults would be echoes (K-012).
 */
export function readStrictJson(text: string, notes: RegistryNotes): JsonNode | null {
  const reading = startReading(text, notes);
  const root = readValue(reading);
  if (root === null) return null;
  if (mark(reading) !== '') return expected(reading, 'the end of the file');
  // The scanner is not ours, so the last word is the platform's.
  if (notes.faults.length === 0 && !isJson(text)) complain(reading, 'JSON.parse refuses this text');
  return root;
}

function readValue(reading: Reading): JsonNode | null {
  switch (mark(reading)) {
    case '{':
      return readObject(reading);
    case '[':
      return readList(reading);
    case '"':
      return readText(reading);
    default:
      return readWord(reading);
  }
}

function readObject(reading: Reading): JsonNode | null {
  const line = lineOf(reading);
  const members: JsonMember[] = [];
  const firstLines = new Map<string, number>();
  const closed = readEntries(reading, '}', () => {
    const member = readMember(reading, firstLines);
    if (member !== null) members.push(member);
    return member !== null;
  });
  return closed ? { kind: 'object', line, members } : null;
}

function readList(reading: Reading): JsonNode | null {
  const line = lineOf(reading);
  const items: JsonNode[] = [];
  const closed = readEntries(reading, ']', () => {
    const item = readBelow(reading, items.length);
    if (item !== null) items.push(item);
    return item !== null;
  });
  return closed ? { kind: 'list', line, items } : null;
}

/** What stands between two brackets, the brackets and commas included; false where reading cannot go on. */
function readEntries(reading: Reading, close: '}' | ']', readEntry: () => boolean): boolean {
  if (reading.path.length >= maxDepth) return refuseDepth(reading);
  advance(reading);
  while (mark(reading) !== close) {
    if (!readEntry()) return false;
    if (mark(reading) === close) break;
    if (mark(reading) !== ',') {
      expected(reading, `"," or "${close}"`);
      return false;
    }
    advance(reading);
    if (mark(reading) === close) complain(reading, `JSON has no comma before "${close}"`);
  }
  advance(reading);
  return true;
}

function readMember(reading: Reading, firstLines: Map<string, number>): JsonMember | null {
  if (mark(reading) !== '"') return expected(reading, 'a key in double quotes');
  const key = readText(reading);
  if (key === null) return null;
  noteDuplicate(reading, key, firstLines);
  if (mark(reading) !== ':') return expected(reading, '":" after the key');
  advance(reading);
  const value = readBelow(reading, key.value);
  return value && { key: key.value, value };
}

/** `JSON.parse` keeps the last of two, other readers the first: two programs would see two registries. */
function noteDuplicate(reading: Reading, key: TextNode, firstLines: Map<string, number>): void {
  const first = firstLines.get(key.value);
  firstLines.set(key.value, first ?? key.line);
  if (first === undefined) return;
  const path = [...reading.path, key.value];
  note(reading.notes.faults, () => ({
    code: 'duplicate_key',
    relativePath: null,
    line: key.line,
    message: `${showPath(path)}: expected each key once, found this one again (first on line ${first}).`,
  }));
}

function readBelow(reading: Reading, step: string | number): JsonNode | null {
  reading.path.push(step);
  const value = readValue(reading);
  reading.path.pop();
  return value;
}

function readText(reading: Reading): TextNode | null {
  const node: TextNode = { kind: 'text', line: lineOf(reading), value: reading.scanner.getTokenValue() };
  const trouble = scanTrouble(reading);
  if (trouble !== undefined) complain(reading, trouble);
  // Where the closing quote is missing, what follows could be inside the text or outside.
  if (trouble === unclosedText) return null;
  advance(reading);
  return node;
}

function readWord(reading: Reading): JsonNode | null {
  const node = toWord(tokenText(reading), lineOf(reading));
  if (node === null) return expected(reading, 'a value');
  const trouble = scanTrouble(reading);
  if (trouble !== undefined) complain(reading, trouble);
  advance(reading);
  return node;
}

function toWord(source: string, line: number): JsonNode | null {
  if (source === 'true' || source === 'false') return { kind: 'boolean', line, value: source === 'true' };
  if (source === 'null') return { kind: 'null', line };
  return /^-?[0-9]/.test(source) ? { kind: 'number', line, source } : null;
}

function refuseDepth(reading: Reading): false {
  note(reading.notes.faults, () => ({
    code: 'registry_bad_shape',
    relativePath: null,
    line: lineOf(reading),
    message: `${showPath(reading.path.slice(0, 5))}…: expected at most ${maxDepth} levels, found more.`,
  }));
  return false;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
