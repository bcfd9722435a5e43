import type { RegistryFaultCode } from '../finding.ts';
import type { FileDefinition } from '../package.ts';
import { quote } from '../quote.ts';
import { below, readFields, refuse, type Spot } from './fields.ts';
import { showPath } from './notes.ts';
import { readBoolean, readLoadOrder, readRelativePath, toLoadOrder } from './values.ts';
import { checkRelativePath, foldPath, maxPathCharacters } from './relative-path.ts';
import type { JsonNode } from './strict-json.ts';

/** Files one package may list. */
export const maxFilesPerPackage = 200;

/**
 * The files one agent lists, in ascending load order whatever their order in the JSON (K-019); null where that is not
 * known, which is noted. What is unfit and what two files have in common is noted for every file (K-013…K-018).
 */
export function readFiles(spot: Spot | undefined): readonly FileDefinition[] | null {
  if (spot === undefined) return null;
  const { node } = spot;
  if (node.kind !== 'list') return refuse(spot, { code: 'bad_type', expected: 'a list of files' });
  if (node.items.length === 0) return refuse(spot, { code: 'no_files', expected: 'at least one file' });
  if (node.items.length > maxFilesPerPackage) {
    refuse(spot, { code: 'too_many_files', expected: `at most ${maxFilesPerPackage} files` });
  }
  const entries = node.items.map((item, index) => readEntry(below(spot, index, item)));
  noteRepeats(entries, repeatedPaths);
  noteRepeats(entries, repeatedOrders);
  const files = entries.flatMap(({ file }) => file ?? []);
  return files.sort((left, right) => left.loadOrder - right.loadOrder);
}

/** One file as it was listed, and what became of it. */
interface Entry {
  readonly path: Spot | undefined;
  readonly order: Spot | undefined;
  readonly file: FileDefinition | null;
}

function readEntry(listed: Spot): Entry {
  const spot = { ...listed, relativePath: spelling(listed.node) };
  const fields = readFields(spot, ['relative_path', 'load_order', 'required']);
  if (fields === null) {
    refuse(spot, { code: 'bad_type', expected: 'an object with relative_path, load_order and required' });
    return { path: undefined, order: undefined, file: null };
  }
  const { relative_path: path, load_order: order } = fields;
  const relativePath = readRelativePath(path);
  const loadOrder = readLoadOrder(order);
  const required = readBoolean(fields.required);
  const fit = relativePath !== null && loadOrder !== null && required !== null;
  return { path, order, file: fit ? { relativePath, loadOrder, required } : null };
}

/**
 * The path a finding carries: as it is where it is fit; where it is not, escaped as JSON would, since a zero byte or a
 * direction control must reach neither a database nor a terminal.
 */
function spelling(node: JsonNode): string | null {
  const path = node.kind === 'object' && node.members.find(({ key }) => key === 'relative_path')?.value;
  if (!path || path.kind !== 'text' || path.value.trim() === '') return null;
  return checkRelativePath(path.value) === null
    ? path.value
    : quote(path.value, maxPathCharacters).slice(1, -1);
}

/** What no two files of one agent may have in common; two agents may list the same file (K-021). */
interface Repeat {
  readonly code: RegistryFaultCode;
  readonly expected: string;
  readonly spotOf: (entry: Entry) => Spot | undefined;
  readonly identityOf: (node: JsonNode) => string | number | null;
}

const repeatedPaths: Repeat = {
  // K-014: in the form in which some file systems compare names, so that é cannot stand twice.
  code: 'duplicate_path',
  expected: 'each file once, letter case and Unicode form aside',
  spotOf: ({ path }) => path,
  identityOf: (node) => (node.kind === 'text' && node.value.trim() !== '' ? foldPath(node.value) : null),
};

const repeatedOrders: Repeat = {
  // K-015: otherwise the order of two files would be nobody's decision.
  code: 'duplicate_load_order',
  expected: 'each load order once',
  spotOf: ({ order }) => order,
  identityOf: toLoadOrder,
};

function noteRepeats(entries: readonly Entry[], { code, expected, spotOf, identityOf }: Repeat): void {
  const first = new Map<string | number, Spot>();
  for (const spot of entries.flatMap((entry) => spotOf(entry) ?? [])) {
    const identity = identityOf(spot.node);
    const earlier = identity === null ? undefined : first.get(identity);
    if (earlier !== undefined)
      refuse(spot, { code, expected, because: `${showPath(earlier.path)} holds too` });
    else if (identity !== null) first.set(identity, spot);
  }
}
