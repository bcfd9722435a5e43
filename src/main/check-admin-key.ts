import { readFile } from 'node:fs/promises';
import type { Settings } from '../../config/settings.ts';
import { KnowledgeError } from '../core/errors.ts';
import { authenticate } from '../operations/authenticate.ts';
import type { Context } from '../operations/context.ts';
import { reasonOf } from '../store/embedded-postgres/plain-words.ts';
import { adminKeyPath } from './setup-database.ts';

/** What is wrong with the key in the data folder's file, as a sentence; null where this database knows it. */
export async function checkAdminKey(
  settings: Settings,
  context: Pick<Context, 'database' | 'clock'>,
): Promise<string | null> {
  const path = adminKeyPath(settings);
  let key: string;
  try {
    key = await readFile(path, 'utf8');
  } catch (error) {
    return (error as { code?: string }).code === 'ENOENT'
      ? `The admin key is not in ${path}.`
      : `The admin key in ${path} could not be read: ${reasonOf(error)}.`;
  }
  try {
    // As a shell takes it from the file.
    await authenticate(context, key.replace(/\n+$/, ''));
    return null;
  } catch (error) {
    if (!(error instanceof KnowledgeError) || error.code !== 'UNAUTHENTICATED') throw error;
    return `The key in ${path} is not one of this database, or is revoked or expired.`;
  }
}
