import { counted } from './count.ts';

/** How one check ended: `trouble` keeps knowledge from being served or kept current; `warning` wants a person's eye. */
export const checkStates = ['ok', 'warning', 'trouble'] as const;
export type CheckState = (typeof checkStates)[number];

/** What a check is about, in the order the checks are told. */
export const checkAreas = [
  'settings',
  'registry',
  'root',
  'drive',
  'files',
  'watcher',
  'database',
  'daemons',
  'packages',
  'queue',
  'notices',
  'disk',
] as const;
export type CheckArea = (typeof checkAreas)[number];

/** Who can mend something, as machines read it and as a person does. */
export const fixers = {
  author: 'author of the folder',
  operator: 'operator of this machine',
  database_administrator: 'database administrator',
  m365_administrator: 'Microsoft 365 administrator',
} as const;
export type Fixer = keyof typeof fixers;

/** What one check found, what that means, and who can mend it and how: sentences without a secret or a file's body. */
export interface Check {
  readonly area: CheckArea;
  /** A stable word for programs; where a rule was broken, the rule's own code. */
  readonly name: string;
  readonly state: CheckState;
  readonly found: string;
  readonly meaning: string | null;
  /** Null where nothing needs to be done. */
  readonly fix: string | null;
  readonly who: Fixer | null;
  /** The listed file it is about; null where it is about none. */
  readonly relativePath: string | null;
  /** The agents it touches. */
  readonly agentKeys: readonly string[];
}

/** What a check found, before it is judged. */
export type Finds = Pick<Check, 'area' | 'name' | 'found'> &
  Partial<Pick<Check, 'relativePath' | 'agentKeys' | 'meaning'>>;

/** What something that is not well means, and who mends it how. */
export interface Advice {
  readonly meaning: string;
  readonly fix: string;
  readonly who: Fixer;
}

/** A check that found nothing to mend. */
export function fine(finds: Finds): Check {
  return { ...nothing, ...finds, state: 'ok' };
}

/** A check that found something a person should know. */
export function warn(finds: Finds, advice: Advice): Check {
  return { ...nothing, ...finds, ...advice, state: 'warning' };
}

/** A check that found what must be mended. */
export function trouble(finds: Finds, advice: Advice): Check {
  return { ...nothing, ...finds, ...advice, state: 'trouble' };
}

const nothing = { meaning: null, fix: null, who: null, relativePath: null, agentKeys: [] };

/** The first `most` checks; what a person would not read any more is counted in one last check. */
export function firstChecks(checks: readonly Check[], most: number): Check[] {
  const rest = checks.slice(most).filter((check) => check.state !== 'ok');
  const [worst] = rest.toSorted((left, right) => rankOf(right) - rankOf(left));
  if (worst === undefined) return checks.slice(0, most);
  const found = `${counted(rest.length, 'more check')} of this kind ${rest.length === 1 ? 'is' : 'are'} not well.`;
  // Whose fix is known by the worst of them; how is another matter for each.
  const fix = 'Mend those above, and run this again.';
  const more = { ...worst, name: 'more', found, fix, relativePath: null, agentKeys: [] };
  return [...checks.slice(0, most), more];
}

function rankOf({ state }: Check): number {
  return checkStates.indexOf(state);
}
