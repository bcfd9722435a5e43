import type { Advice, Fixer } from '../../core/check.ts';
import type { FindingCode } from '../../core/finding.ts';
import type { SourceType } from '../../core/package.ts';

/** What the agents that a fault touches have meanwhile. */
export type Standing = 'active' | 'no_version' | 'unknown';

const meanwhile: Readonly<Record<Standing, string>> = {
  active: 'The package keeps its active version until this is mended.',
  no_version: 'The agent has no version yet, and gets none until this is mended.',
  unknown: 'No new version is made until this is mended; an active one stays.',
};

/** Authors have the folder and nothing else: what is the registry's or a setting's is left to the operator. */
interface FaultAdvice {
  readonly why?: string;
  readonly fix: string;
  readonly who: Fixer;
}

const faults = {
  missing_required: {
    fix: 'Put the file at exactly this path; or have the operator take it off the registry.',
    who: 'author',
  },
  name_differs_by_case: {
    why: 'To the registry these are two names, also where the system opens the same file for both.',
    fix: 'Rename the file to what is listed; or have the operator list it as the folder spells it.',
    who: 'author',
  },
  name_differs_by_unicode_form: {
    why: 'To the registry these are two names; macOS writes accents as letter and mark.',
    fix: 'Rename the file to what is listed; or have the operator copy its name from the folder into the registry.',
    who: 'author',
  },
  empty_required: {
    why: 'It may be half synced.',
    fix: 'Wait for the sync client; else give the file its text, or have the operator list it as not required.',
    who: 'author',
  },
  empty_package: {
    fix: 'Put at least one listed file in its place; or have the operator disable the agent.',
    who: 'author',
  },
  not_regular_file: {
    why: 'Only regular files are read.',
    fix: 'Put a plain file in its place.',
    who: 'author',
  },
  path_escapes_root: {
    why: 'Nothing outside the root is ever read.',
    fix: 'Put a copy of the file below the root in its place.',
    who: 'author',
  },
  unreadable: {
    fix: 'Run this as the user of the daemon. If it is that user, give it the right to read the file (chmod +r) and to enter its folders (chmod +rx).',
    who: 'operator',
  },
  not_downloaded: {
    why: 'It is listed, and its bytes do not come down from the cloud.',
    fix: 'Look whether the file is blocked, quarantined or checked out, and whether the account may read it.',
    who: 'm365_administrator',
  },
  too_large: {
    fix: 'Shorten or split the file; or have the operator raise AGENT_KNOWLEDGE_MAX_FILE_SIZE.',
    who: 'author',
  },
  package_too_large: {
    fix: 'Shorten the files; or have the operator list fewer of them.',
    who: 'author',
  },
  secret_found: {
    why: 'Versions are kept for ever, so a secret must not get in.',
    fix: 'Take it out of the file, and replace it wherever it is used.',
    who: 'author',
  },
} satisfies Partial<Record<FindingCode, FaultAdvice>>;

const faultsByCode: ReadonlyMap<string, FaultAdvice> = new Map(Object.entries(faults));

/** What is otherwise in a drive: there nobody mounts, and names are hidden, moved and late (A12, T10, D22). */
const driveFaults = {
  missing_required: {
    why: 'In a drive that means: renamed or moved, deleted, not there yet, checked out and never checked in, or hidden from the account.',
    fix: 'Put it at exactly this path again (a deleted one lies in the recycle bin); check it in where its author alone sees it. Saved just now: run this again in some minutes. Everybody sees it: have the administrator look whether the account may read it.',
    who: 'author',
  },
  not_regular_file: {
    why: 'Only files are read; folders, notebooks and links to other places are none.',
    fix: 'Put a plain file in its place.',
    who: 'author',
  },
  unreadable: {
    why: 'It is listed, and the drive does not give its bytes.',
    fix: 'Look by the code whether the file is blocked (malware, a policy), locked, or not readable for the account. With a hash or length that is not its bytes: save the file once more as plain text.',
    who: 'm365_administrator',
  },
} satisfies Partial<Record<FindingCode, FaultAdvice>>;

const driveFaultsByCode: ReadonlyMap<string, FaultAdvice> = new Map(Object.entries(driveFaults));

const anyFault: FaultAdvice = {
  fix: 'Take out of the file, at the place named, what the message says; the operator has the list of what is refused (docs/registry.md).',
  who: 'author',
};

/** What a finding about a file that keeps its package from loading means, and who mends it. */
export function faultAdvice(code: string, standing: Standing, source: SourceType): Advice {
  const ofDrive = source === 'graph' ? driveFaultsByCode.get(code) : undefined;
  const { why, fix, who }: FaultAdvice = ofDrive ?? faultsByCode.get(code) ?? anyFault;
  return { meaning: why === undefined ? meanwhile[standing] : `${why} ${meanwhile[standing]}`, fix, who };
}

/** Whether a fault of fetching a file is one that authors mend. */
export function isAuthorsFault(code: string | null): boolean {
  return code !== null && faultsByCode.get(code)?.who === 'author';
}

const loaded = 'The package is loaded all the same.';

const warnings: Partial<Record<FindingCode, Advice>> = {
  conflict_copy_present: {
    meaning: 'Two have written at once. Only the listed file is loaded, whichever is the right one.',
    fix: 'Compare the two, keep what is right under the listed name, and delete the copy.',
    who: 'author',
  },
  empty_optional: {
    meaning: 'It counts as absent; it may be half synced.',
    fix: 'Wait for the sync client; else give the file its text, or delete it.',
    who: 'author',
  },
  symlink_inside_root: {
    meaning: loaded,
    fix: 'Put a plain file in its place: sync clients and other systems follow links in other ways.',
    who: 'author',
  },
  unverified: {
    meaning: `The drive reports another length or hash than the bytes have; four readings agreed. ${loaded}`,
    fix: 'Save the file once more as plain text; SharePoint rewrites some kinds of files after they are saved.',
    who: 'author',
  },
  name_differs_by_case: otherName(faults.name_differs_by_case),
  name_differs_by_unicode_form: otherName(faults.name_differs_by_unicode_form),
};

/** Of a file that need not be there. */
function otherName({ why, fix }: { readonly why: string; readonly fix: string }): Advice {
  return { meaning: `${why} The listed one counts as absent.`, fix, who: 'author' };
}

/** The same for a finding that only wants a person's eye. */
export function warningAdvice(code: FindingCode): Advice {
  return (
    warnings[code] ?? {
      meaning: loaded,
      fix: 'Look at the file at the place named, and mend it if it was not meant so.',
      who: 'author',
    }
  );
}

/** A file that is only a name so far, and will come down when it is read. */
export const placeholderAdvice: Advice = {
  meaning: 'The first look at it waits for the download, and fails where the machine is offline.',
  fix: 'Tell the sync client to keep the folder on this device.',
  who: 'operator',
};
