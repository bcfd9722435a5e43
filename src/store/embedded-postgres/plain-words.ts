import { messageOf } from '../../core/errors.ts';
const reasonsByCode: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'the operating system does not permit it to this user',
  ENOSPC: 'no space left on the disk',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EEXIST: 'something else of that name is there',
  ENOTDIR: 'a part of the path is a file, not a folder',
  ENAMETOOLONG: 'the path is too long',
};

/** The system's code of an error (`ENOENT`, or a SQLSTATE), or undefined where it has none. */
export function codeOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** An error a person can act on: what was attempted, and in plain words why it failed. The cause is kept. */
export function troubleWith(attempt: string, error: unknown): Error {
  return new Error(`${attempt}: ${reasonOf(error)}`, { cause: error });
}

/** Why a step failed: in plain words with the system's own behind, or in the system's own where there are no others. */
export function reasonOf(error: unknown): string {
  const message = messageOf(error);
  const reason = reasonsByCode[codeOf(error) ?? ''];
  return reason === undefined ? message : `${reason} (${message})`;
}

/** Carries out one step; what the operating system refuses is told as `attempt` and the reason. */
export async function inWords<T>(attempt: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    throw troubleWith(attempt, error);
  }
}

const tellingLines = /FATAL|PANIC|ERROR|error:|could not|[Pp]ermission denied|[Nn]o space/;
const maxLines = 6;

/**
 * The lines of a PostgreSQL program's output that say why it stopped, at most six, on one line. A full disk is named
 * first, since the program's own words for it come wrapped in others.
 */
export function reasonIn(output: string): string {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const telling = lines.filter((line) => tellingLines.test(line));
  const shown = (telling.length > 0 ? telling : lines).slice(-maxLines).join(' | ');
  const prefix = /No space left on device/.test(output) ? 'the disk is full: ' : '';
  return prefix + (shown === '' ? 'it said nothing' : shown);
}
