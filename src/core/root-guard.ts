import type { RootState } from './daemon-condition.ts';
import { quote } from './quote.ts';

/** What one observation of the source's root saw; names and kinds only, nothing is read. */
export interface RootSight {
  /** The root as the settings name it. */
  readonly path: string;
  readonly folder: 'there' | 'empty' | 'absent' | 'not_a_folder';
  /** The system's word where it is absent, such as `EACCES`. */
  readonly code?: string;
  /** Why it is not there, as a sentence, where more is known than the word. */
  readonly message?: string;
  /** Where the path leads: real path, device and inode. Null where it leads to no folder. */
  readonly place: { readonly realPath: string; readonly identity: string } | null;
  /** Every required file of every enabled agent: whether something is there by its name. */
  readonly files: ReadonlyMap<string, boolean>;
}

/** Why a root looks lost, as a stable word. */
export type RootReason = 'absent' | 'not_a_folder' | 'empty' | 'exchanged' | 'files_vanished';

export interface RootTrouble {
  readonly reason: RootReason;
  readonly message: string;
}

/** What the guard knows of the root; made by `nextRoot` alone. */
export interface RootMemory {
  readonly state: RootState;
  /** Why it is not `ok`; null where it is. */
  readonly trouble: RootTrouble | null;
  /** The root when it was last `ok`; null for a guard that has only seen it missing. */
  readonly good: GoodRoot | null;
  /** Whether it has been `missing` since it was last `ok`, so that somebody was alarmed. */
  readonly lost: boolean;
  /** When a suspect root is looked at again at the latest, and how often it has been. */
  readonly lookAgainAt: number;
  readonly checks: number;
  /** Since when every observation has been equal to the last one. */
  readonly equalSince: number;
  readonly print: string;
  /** Since when it has been in this state and equal. */
  readonly since: number;
}

interface GoodRoot {
  readonly place: string;
  readonly identity: string;
  /** The required files that are there, or were a moment ago, and when each was last seen. */
  readonly files: ReadonlyMap<string, number>;
}

/** Milliseconds from one look at a suspect root to the next; after the last one it is missing. */
const suspectWaitsMs = [200, 1000, 3000];

/** How long a root must look the same before it counts as returned. */
const returnedMs = 2000;

/** How long a root with fewer files than before, but not so few that it looks lost, must look the same. */
const fewerFilesMs = 60_000;

/** Fewer required files than this are deleted by people. */
const leastVanished = 5;

/**
 * A file counts as there for this long after it was last seen, so that a folder that is emptied over several
 * observations is seen to lose what it had, and not a little each time.
 */
const onePassMs = 3000;

/**
 * What the guard knows after one more observation, at `at` milliseconds of a monotonic clock: pure, and total.
 *
 * `ok` → `suspect` at the first sign of loss (F50); `suspect` → `missing` when it has not gone away after 200 ms, 1 s and 3 s
 * more; either → `returned` when everything that was there is there; `returned` → `ok` when that has been so for 2 s.
 * A guard without a memory takes what it finds: it starts `ok` or `missing`.
 */
export function nextRoot(before: RootMemory | null, sight: RootSight, at: number): RootMemory {
  if (before === null) return firstRoot(sight, at);
  const print = printOf(sight);
  const equal = print === before.print;
  const seen = { ...before, print, equalSince: equal ? before.equalSince : at };
  const trouble = findTrouble(before.good, sight);
  switch (before.state) {
    case 'ok':
      return trouble === null ? stayWell(seen, sight, at) : suspect(seen, trouble, at);
    case 'suspect':
      return isWhole(before.good, sight) ? giveBack(seen, at) : suspectStill(seen, sight, at);
    case 'missing': {
      const accepted = isWhole(before.good, sight) || isAcceptedByTime(seen, sight, at);
      return accepted ? giveBack(seen, at) : { ...seen, trouble: trouble ?? before.trouble };
    }
    case 'returned':
      if (sight.folder === 'there' && equal) return at - before.since < returnedMs ? seen : well(sight, at);
      if (isWhole(before.good, sight)) return { ...seen, since: at };
      // One that comes and goes must not be `suspect` for ever.
      return before.lost ? miss(seen, trouble, at) : checkAgain(seen, trouble, at);
    default:
      return before.state satisfies never;
  }
}

/** A registry that lists other files says nothing of the root: what a lost one must bring back is counted anew. */
export function expectAnew(memory: RootMemory): RootMemory {
  if (memory.state === 'ok' || memory.good === null) return memory;
  return { ...memory, good: { ...memory.good, files: new Map() } };
}

function firstRoot(sight: RootSight, at: number): RootMemory {
  if (sight.folder === 'there') return well(sight, at);
  const trouble = findTrouble(null, sight);
  return { ...well(sight, at), state: 'missing', trouble, good: null, lost: true };
}

function well(sight: RootSight, at: number): RootMemory {
  const place = sight.place;
  const files = new Map([...sight.files].filter(([, there]) => there).map(([path]) => [path, at]));
  return {
    state: 'ok',
    trouble: null,
    good: place === null ? null : { place: placeOf(sight), identity: place.identity, files },
    lost: false,
    lookAgainAt: at,
    checks: 0,
    equalSince: at,
    print: printOf(sight),
    since: at,
  };
}

/** Files that have just gone are remembered for a moment. */
function stayWell(seen: RootMemory, sight: RootSight, at: number): RootMemory {
  const now = well(sight, at);
  if (now.good === null || seen.good === null) return now;
  const files = new Map(now.good.files);
  for (const [path, lastSeen] of seen.good.files) {
    if (sight.files.get(path) === false && at - lastSeen <= onePassMs) files.set(path, lastSeen);
  }
  return { ...now, good: { ...now.good, files } };
}

function suspect(seen: RootMemory, trouble: RootTrouble | null, at: number): RootMemory {
  const wait = suspectWaitsMs[seen.checks] ?? 0;
  return { ...seen, state: 'suspect', trouble, lookAgainAt: at + wait, since: at };
}

/** An observation that somebody asked for in between decides nothing but that all is well. */
function suspectStill(seen: RootMemory, sight: RootSight, at: number): RootMemory {
  const trouble = findTrouble(seen.good, sight);
  if (at < seen.lookAgainAt) return { ...seen, trouble: trouble ?? seen.trouble };
  // Only a few files are gone after all these looks: that is for their packages to tell.
  if (trouble === null && seen.checks + 1 >= suspectWaitsMs.length) return giveBack(seen, at);
  return checkAgain(seen, trouble, at);
}

function checkAgain(seen: RootMemory, trouble: RootTrouble | null, at: number): RootMemory {
  const checks = seen.checks + 1;
  if (checks >= suspectWaitsMs.length) return miss(seen, trouble, at);
  return suspect({ ...seen, checks }, trouble ?? seen.trouble, at);
}

function miss(seen: RootMemory, trouble: RootTrouble | null, at: number): RootMemory {
  return { ...seen, state: 'missing', trouble: trouble ?? seen.trouble, lost: true, since: at };
}

function giveBack(seen: RootMemory, at: number): RootMemory {
  return { ...seen, state: 'returned', since: at };
}

/** Everything that was there is there, in whatever folder. */
function isWhole(good: GoodRoot | null, sight: RootSight): boolean {
  return sight.folder === 'there' && goneFrom(good, sight).length === 0;
}

/** Somebody has really deleted some of the files meanwhile; without this the root would stay lost for ever. */
function isAcceptedByTime(seen: RootMemory, sight: RootSight, at: number): boolean {
  return sight.folder === 'there' && !haveVanished(seen.good, sight) && at - seen.equalSince >= fewerFilesMs;
}

function findTrouble(good: GoodRoot | null, sight: RootSight): RootTrouble | null {
  const path = quote(sight.path, 400);
  switch (sight.folder) {
    case 'absent': {
      const code = sight.code ?? 'ENOENT';
      const found = code === 'ENOENT' ? 'is not there' : `cannot be reached (${code})`;
      return { reason: 'absent', message: sight.message ?? `The root folder ${path} ${found}.` };
    }
    case 'not_a_folder': {
      const message = sight.message ?? `The root folder ${path} is not a folder.`;
      return { reason: 'not_a_folder', message };
    }
    case 'empty': {
      const message = `The root folder ${path} is empty; it may not be mounted or not be synced.`;
      return { reason: 'empty', message };
    }
    case 'there':
      break;
    default:
      return sight.folder satisfies never;
  }
  if (good !== null && good.place !== placeOf(sight)) {
    const message = `The root folder ${path} is another folder than before; it was exchanged, or a mount came or went.`;
    return { reason: 'exchanged', message };
  }
  if (!haveVanished(good, sight)) return null;
  const message = `${goneFrom(good, sight).length} of ${askedOf(good, sight).length} required files are gone at once from the root folder ${path}, though the folder is there. Were they renamed or moved, or is a sync under way? Put them back, or correct the paths in the registry.`;
  return { reason: 'files_vanished', message };
}

function haveVanished(good: GoodRoot | null, sight: RootSight): boolean {
  const gone = goneFrom(good, sight).length;
  return gone >= leastVanished && gone * 2 >= askedOf(good, sight).length;
}

/** The files that were there, as far as the registry still lists them. */
function askedOf(good: GoodRoot | null, sight: RootSight): string[] {
  return [...(good?.files.keys() ?? [])].filter((path) => sight.files.has(path));
}

function goneFrom(good: GoodRoot | null, sight: RootSight): string[] {
  return askedOf(good, sight).filter((path) => sight.files.get(path) === false);
}

function placeOf(sight: RootSight): string {
  return sight.place === null ? '' : `${sight.place.identity} ${sight.place.realPath}`;
}

function printOf(sight: RootSight): string {
  const there = [...sight.files].filter(([, isThere]) => isThere).map(([path]) => path);
  return JSON.stringify([sight.folder, placeOf(sight), there]);
}
