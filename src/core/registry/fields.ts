import type { RegistryFaultCode } from '../finding.ts';
import { nearestWord } from './nearest-word.ts';
import { quote } from '../quote.ts';
import { type JsonPath, note, type RegistryNotes, showPath } from './notes.ts';
import type { JsonNode } from './strict-json.ts';

/** One value of the registry, where it stands, and where faults are noted. */
export interface Spot {
  readonly node: JsonNode;
  readonly path: JsonPath;
  /** The listed file this value is about. */
  readonly relativePath: string | null;
  readonly notes: RegistryNotes;
}

/** The value one step below. */
export function below(spot: Spot, step: string | number, node: JsonNode): Spot {
  return { ...spot, node, path: [...spot.path, step] };
}

/** A fault before it is put into words. */
export interface Refusal {
  readonly code: RegistryFaultCode;
  /** Ends "expected …". */
  readonly expected: string;
  /** Ends the sentence, where what was found does not speak for itself. */
  readonly because?: string;
}

/** Notes a fault at the spot, with its path, what was expected and what was found; null, for the caller to pass on. */
export function refuse(spot: Spot, { code, expected, because }: Refusal): null {
  note(spot.notes.faults, () => ({
    code,
    relativePath: spot.relativePath,
    line: spot.node.line,
    message: `${showPath(spot.path)}: expected ${expected}, found ${describe(spot.node)}${because === undefined ? '' : `, which ${because}`}.`,
  }));
  return null;
}

function describe(node: JsonNode): string {
  switch (node.kind) {
    case 'object':
      return 'an object';
    case 'list':
      return `a list of ${node.items.length}`;
    case 'text':
      return quote(node.value);
    case 'number':
      return quote(node.source).slice(1, -1);
    case 'boolean':
      return String(node.value);
    case 'null':
      return 'null';
    default:
      return node satisfies never;
  }
}

/**
 * The known keys of an object, each as a spot: a missing one is a fault (`missing_field`), an unknown one a warning
 * (`unknown_key`) with the key it may have been meant to be. Of a key that stands twice the first is taken; that is a
 * fault already. Null where the value is no object: the caller says what that means.
 */
export function readFields<Key extends string>(
  spot: Spot,
  keys: readonly Key[],
): Partial<Record<Key, Spot>> | null {
  const { node } = spot;
  if (node.kind !== 'object') return null;
  const fields: Partial<Record<Key, Spot>> = {};
  for (const member of node.members) {
    const key = keys.find((known) => known === member.key);
    if (key === undefined) warnUnknown(below(spot, member.key, member.value), keys);
    else fields[key] ??= below(spot, key, member.value);
  }
  for (const key of keys) if (fields[key] === undefined) noteMissing(spot, key);
  return fields;
}

function warnUnknown(spot: Spot, keys: readonly string[]): void {
  const key = String(spot.path.at(-1));
  const meant = nearestWord(key, keys);
  note(spot.notes.warnings, () => ({
    code: 'unknown_key',
    relativePath: spot.relativePath,
    line: spot.node.line,
    message: `${showPath(spot.path)}: this key means nothing here${meant === null ? '.' : `; did you mean "${meant}"?`}`,
  }));
}

function noteMissing(spot: Spot, key: string): void {
  note(spot.notes.faults, () => ({
    code: 'missing_field',
    relativePath: spot.relativePath,
    line: spot.node.line,
    message: `${showPath([...spot.path, key])}: expected a value, found none.`,
  }));
}
