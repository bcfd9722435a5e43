import { codeOf } from './plain-words.ts';

/** What a file operation gives; null where the file or folder is not there. Other failures stay failures. */
export async function ifThere<T>(operation: Promise<T>): Promise<T | null> {
  try {
    return await operation;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') {
      return null;
    }
    throw error;
  }
}
