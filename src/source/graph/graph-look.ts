import { SourceError } from '../../core/errors.ts';
import type { Finding } from '../../core/finding.ts';
import type { FileLook, PackageLook } from '../../core/look.ts';
import type { RelativePath } from '../../core/package.ts';
import { quote } from '../../core/quote.ts';
import type { ContentReader, ReadContent } from './content-reader.ts';
import type { DriveItem } from './drive-item.ts';
import { printFound, type DriveView, type FileFound } from './drive-view.ts';
import { rootTroubleMessage } from './graph-words.ts';
import type { DriveLocation } from './item-path.ts';
import type { KnownContents } from './known-contents.ts';
import type { ViewReader } from './view-reader.ts';

/** What the looks of one source share. */
export interface LookTools {
  /** What a person knows the place by. */
  readonly name: string;
  readonly views: ViewReader;
  readonly contents: ContentReader;
  readonly known: KnownContents;
  /** Rejects when the source closes. */
  readonly pause: (ms: number) => Promise<unknown>;
}

export interface LookWanted {
  readonly location: DriveLocation;
  /** In the order the files are to be answered. */
  readonly paths: readonly RelativePath[];
  readonly withContent: boolean;
  readonly maxFileBytes: number;
  readonly isRoutine: boolean;
}

type Whole = Extract<DriveView, { state: 'there' }>;

/** How often a package that changes under its look is read anew, and how long is waited before, milliseconds. */
const pausesMs = [0, 100, 400, 1000, 2000];

/**
 * Reads one package: what its files are now, and the contents that differ from what is known. After downloads every file is
 * asked for once more, and where one has changed the look begins anew: what is answered stood in the drive at one moment (F65).
 *
 * Throws `GraphError` where the service did not answer, and `SourceError` `retry` where the files keep changing.
 */
export async function lookInDrive(tools: LookTools, wanted: LookWanted): Promise<PackageLook> {
  let view = await tools.views.read(wanted.location, wanted);
  let isChanged: RelativePath | null = null;
  for (const pauseMs of pausesMs) {
    if (isChanged !== null) {
      await tools.pause(pauseMs);
      view = await tools.views.read(wanted.location, wanted);
    }
    if (view.state !== 'there') return trouble(tools.name, wanted.location, view);
    const read = await readAll(tools, wanted, view);
    const after = read.some(isDownloaded) ? await tools.views.read(wanted.location, wanted) : view;
    isChanged = await settle(tools.known, { wanted, view, after, read });
    if (isChanged === null) return wholeLook(wanted, view, read);
    view = after;
  }
  throw new SourceError('retry', `${quote(isChanged ?? '', 400)} kept changing while it was read.`);
}

type Read = ReadContent | Exclude<FileFound, { state: 'there' }>;

function readAll({ contents, views }: LookTools, wanted: LookWanted, view: Whole): Promise<Read[]> {
  const { location, withContent, maxFileBytes: maxBytes } = wanted;
  return Promise.all(
    wanted.paths.map(async (path): Promise<Read> => {
      const found = view.files.get(path);
      if (found === undefined) throw new TypeError('Every path was looked for.');
      if (found.state !== 'there') return found;
      const { item } = found;
      const readAgain = () => views.readAgain(location, item.id);
      return contents.read({ location, path, item, withContent, maxBytes, readAgain });
    }),
  );
}

function isDownloaded(read: Read): boolean {
  return read.state === 'changed' || (read.state === 'read' && read.downloaded);
}

interface Compared {
  readonly wanted: LookWanted;
  readonly view: Whole;
  readonly after: DriveView;
  readonly read: readonly Read[];
}

/** Notes what was downloaded of items that stayed the same; answers with the first that did not, or null. */
async function settle(
  known: KnownContents,
  { wanted, view, after, read }: Compared,
): Promise<RelativePath | null> {
  let changed: RelativePath | null = null;
  const isSameRoot = after.state === 'there' && after.root.id === view.root.id;
  for (const [index, path] of wanted.paths.entries()) {
    const outcome = read[index];
    const isLie = outcome?.state === 'read' && outcome.captured?.unverified === true;
    const is = after.state === 'there' ? after.files.get(path) : undefined;
    const isSame = isSameRoot && printFound(view.files.get(path), isLie) === printFound(is, isLie);
    if (!isSame || outcome?.state === 'changed') changed ??= path;
    else if (outcome?.state === 'read' && outcome.captured !== null)
      await known.note(wanted.location.driveId, outcome.captured);
  }
  return changed;
}

function wholeLook({ location, paths }: LookWanted, view: Whole, read: readonly Read[]): PackageLook {
  const notices: Finding[] = [];
  const files = paths.map((relativePath, index): FileLook => {
    const outcome = read[index];
    switch (outcome?.state) {
      case 'read':
        notices.push(...outcome.notices);
        return outcome.look;
      case 'absent':
      case 'refused':
        return { ...outcome, relativePath };
      default:
        throw new TypeError('A look that changed is not answered.');
    }
  });
  return { root: 'present', rootIdentity: identityOf(location, view.root), files, notices };
}

/** Which folder was read: another one has another id, wherever it lies (A1). */
export function identityOf({ driveId }: DriveLocation, root: DriveItem): string {
  return `${driveId}:${root.id}`;
}

function trouble(
  name: string,
  location: DriveLocation,
  view: Exclude<DriveView, { state: 'there' }>,
): Extract<PackageLook, { root: 'trouble' }> {
  switch (view.state) {
    case 'lost':
      return lostRoot(rootTroubleMessage(name, view.refusal));
    case 'not_a_folder':
      return { ...lostRoot(notAFolder(name)), rootIdentity: identityOf(location, view.root) };
    case 'empty': {
      const message = `The source in Microsoft 365 (${name}) is an empty folder.`;
      return { root: 'trouble', code: 'root_empty', message, rootIdentity: identityOf(location, view.root) };
    }
    default:
      return view satisfies never;
  }
}

export function lostRoot(message: string): Extract<PackageLook, { root: 'trouble' }> {
  return { root: 'trouble', code: 'root_missing', message, rootIdentity: null };
}

export function notAFolder(name: string): string {
  return `The source in Microsoft 365 (${name}) is not a folder.`;
}
