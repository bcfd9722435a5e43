import type { Advice } from '../../core/check.ts';
import type { FindingCode } from '../../core/finding.ts';

const kept = 'The package keeps its active version until this is mended.';
const loaded = 'The package is loaded all the same.';

const advices: Partial<Record<FindingCode, Advice>> = {
  missing_required: {
    meaning: kept,
    fix: 'Put the file at exactly this path, or take it off the registry.',
    who: 'author',
  },
  name_differs_by_case: {
    meaning: 'To the registry these are two names, also where the system opens the same file for both.',
    fix: 'Rename the file, or spell it in the registry as the folder does.',
    who: 'author',
  },
  name_differs_by_unicode_form: {
    meaning: 'To the registry these are two names; macOS writes accents as letter and mark.',
    fix: 'Rename the file, or copy its name from the folder into the registry.',
    who: 'author',
  },
  conflict_copy_present: {
    meaning: 'Two have written at once. Only the listed file is loaded, whichever is the right one.',
    fix: 'Compare the two, keep what is right under the listed name, and delete the copy.',
    who: 'author',
  },
  empty_required: {
    meaning: `It may be half synced. ${kept}`,
    fix: 'Wait for the sync client; else give the file its text, or list it as not required.',
    who: 'author',
  },
  empty_optional: {
    meaning: 'It counts as absent; it may be half synced.',
    fix: 'Wait for the sync client; else give the file its text, or delete it.',
    who: 'author',
  },
  empty_package: {
    meaning: kept,
    fix: 'Put at least one listed file in its place, or disable the agent.',
    who: 'author',
  },
  not_regular_file: {
    meaning: `Only regular files are read. ${kept}`,
    fix: 'Put a plain file in its place.',
    who: 'author',
  },
  path_escapes_root: {
    meaning: `Nothing outside the root is ever read. ${kept}`,
    fix: 'Put a copy of the file below the root in its place.',
    who: 'author',
  },
  unreadable: {
    meaning: kept,
    fix: 'Give the user of the daemon the right to read it and to pass through its folders.',
    who: 'operator',
  },
  not_downloaded: {
    meaning: `It is listed, and its bytes do not come down from the cloud. ${kept}`,
    fix: 'Look whether the file is blocked, quarantined or checked out, and whether the account may read it.',
    who: 'm365_administrator',
  },
  too_large: {
    meaning: kept,
    fix: 'Shorten or split the file; or let the operator raise AGENT_KNOWLEDGE_MAX_FILE_SIZE.',
    who: 'author',
  },
  package_too_large: { meaning: kept, fix: 'List fewer or shorter files.', who: 'author' },
  secret_found: {
    meaning: `Versions are kept for ever, so a secret must not get in. ${kept}`,
    fix: 'Take it out of the file, and replace it wherever it is used.',
    who: 'author',
  },
  symlink_inside_root: {
    meaning: loaded,
    fix: 'Put a plain file in its place: sync clients and other systems follow links in other ways.',
    who: 'author',
  },
};

/** What a finding about a file that keeps its package from loading means, and who mends it. */
export function faultAdvice(code: FindingCode): Advice {
  return (
    advices[code] ?? {
      meaning: kept,
      fix: 'Mend the file at the place named; docs/registry.md says what is refused and why.',
      who: 'author',
    }
  );
}

/** The same for a finding that only wants a person's eye. */
export function warningAdvice(code: FindingCode): Advice {
  return (
    advices[code] ?? {
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
