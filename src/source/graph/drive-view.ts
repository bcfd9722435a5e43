import type { Finding } from '../../core/finding.ts';
import type { RefusedFile } from '../../core/look.ts';
import type { RelativePath } from '../../core/package.ts';
import { quote } from '../../core/quote.ts';
import type { DriveItem } from './drive-item.ts';
import { describeRefusal } from './graph-words.ts';
import type { ItemAnswer, ItemRefusal } from './item-reader.ts';
import { spellingHint } from '../neighbours.ts';

/** What one listed file is now. */
export type FileFound =
  | { readonly state: 'there'; readonly item: DriveItem }
  | { readonly state: 'absent'; readonly hints: readonly Finding[] }
  | { readonly state: 'refused'; readonly code: RefusedFile['code']; readonly message: string };

/** What a root and the listed files below it are now. */
export type DriveView =
  | {
      readonly state: 'there';
      readonly root: DriveItem;
      readonly files: ReadonlyMap<RelativePath, FileFound>;
    }
  | { readonly state: 'empty' | 'not_a_folder'; readonly root: DriveItem }
  | { readonly state: 'lost'; readonly refusal: ItemRefusal };

/** What a person is told of a name that looks like the one at `at` in the path, and is another. */
export function hintsOf(path: string, at: number, names: readonly string[]): readonly Finding[] {
  const segments = path.split('/');
  const folder = segments.slice(0, at);
  return names.flatMap(
    (name) => spellingHint(segments[at] ?? '', { name, kind: 'other' }, [...folder, name].join('/')) ?? [],
  );
}

/** Whether a name as the drive spells it is the listed one: exactly, but for the Unicode form (A2, A7). */
export function isListedName(listed: string, found: string | null): boolean {
  return found === null || found.normalize('NFC') === listed.normalize('NFC');
}

/** What an item that was found by a listed path is, once its folders are known to be the listed ones. */
export function judgeItem(
  path: string,
  { item, isMalware }: Extract<ItemAnswer, { state: 'item' }>,
): FileFound {
  const segments = path.split('/');
  const at = segments.length - 1;
  if (item.deleted) return { state: 'absent', hints: [] };
  if (!isListedName(segments[at] ?? '', item.name))
    return { state: 'absent', hints: hintsOf(path, at, [item.name ?? '']) };
  const file = quote(path, 400);
  if (isMalware)
    return refuse('unreadable', `${file} is held back by Microsoft 365: it was found to hold malware.`);
  if (item.kind === 'file') return { state: 'there', item };
  const kind = item.kind === 'folder' ? 'a folder' : 'a notebook, a shortcut or something else';
  return refuse('not_regular_file', `${file} is ${kind}, not a regular file.`);
}

/** What a listed file is that the service does not let anybody read (C14). */
export function judgeRefusal(path: string, refusal: ItemRefusal): FileFound {
  return refuse(
    'unreadable',
    `${quote(path, 400)} cannot be read from the drive: ${describeRefusal(refusal)}.`,
  );
}

/**
 * A text that two views share where a file is the same in both: whole items are compared, not their times (C13). Where hash and
 * size are known to lie the eTag alone is, if there is one (C10).
 */
export function printFound(found: FileFound | undefined, isLie = false): string {
  if (found?.state !== 'there') return found?.state ?? 'unasked';
  const { id, eTag, cTag, sizeBytes, quickXorHash } = found.item;
  if (isLie && eTag !== null) return JSON.stringify([id, eTag]);
  return JSON.stringify([id, eTag, cTag, sizeBytes, quickXorHash]);
}

function refuse(code: RefusedFile['code'], message: string): FileFound {
  return { state: 'refused', code, message };
}
