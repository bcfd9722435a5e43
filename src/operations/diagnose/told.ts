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
  return trouble({ area, name: 'not_checked', found }, unknown);
}

/** What an error says, in one line. */
export function wordsOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replaceAll(/\s+/g, ' ');
}

const unknown = {
  meaning: 'How it is here is not known.',
  fix: 'Mend what the message names, and run this again.',
  who: 'operator',
} as const;
