import { messageOf } from '../../core/errors.ts';
import { trouble, type Check, type CheckArea } from '../../core/check.ts';

/** The checks, or, where they could not be made, one that says why: what is broken never hides the rest. */
export async function told(
  area: CheckArea,
  work: () => Promise<readonly Check[]>,
): Promise<readonly Check[]> {
  try {
    return await work();
  } catch (error) {
    return [notChecked(area, error)];
  }
}

/** A check that could not be made: how it is there is not known, which is trouble enough. */
export function notChecked(area: CheckArea, error: unknown): Check {
  const found = `This could not be checked: ${wordsOf(error)}`;
  return trouble({ area, name: 'not_checked', found }, isNotPermitted(error) ? notPermitted : unknown);
}

/** Whether an error, or what it came from, says that this user may not. */
export function isNotPermitted(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? error.code : null;
  return code === 'EACCES' || code === 'EPERM' || isNotPermitted(error.cause);
}

/** What an error says, in one line. */
export function wordsOf(error: unknown): string {
  return messageOf(error).replaceAll(/\s+/g, ' ');
}

/** With a capital first letter. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const unknown = {
  meaning: 'How it is here is not known.',
  fix: 'Mend what the message names, and run this again.',
  who: 'operator',
} as const;

const notPermitted = {
  meaning: 'This user may not look there; the user of the daemon perhaps may.',
  fix: 'Run this as the user of the daemon, or give this user the right to what the message names.',
  who: 'operator',
} as const;
