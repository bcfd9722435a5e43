import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Settings } from '../../config/settings.ts';
import { KnowledgeError } from '../core/errors.ts';
import { ensureAdminKey } from '../operations/manage-keys.ts';
import { ensureActor } from '../store/actors.ts';
import { revokeKey } from '../store/api-keys.ts';
import { reasonOf } from '../store/embedded-postgres/plain-words.ts';
import { migrate } from '../store/migrate.ts';
import { newKeyMaterial } from './key-material.ts';
import { openContext } from './runtime.ts';

/** Where the admin key of the first start lies, mode 0600. */
export function adminKeyPath(settings: Settings): string {
  return join(settings.dataDir, 'admin-key');
}

/** An admin key that was made, whose file is the only place that holds it. */
export interface MadeKey {
  readonly path: string;
  /** Where the key is now that lay there before; null where none did. */
  readonly earlierPath: string | null;
}

/**
 * Migrates a database and makes an admin key where there is no live one, both under one lock, so that N processes that
 * start at once migrate once and make one key. Answers where the key is, if one was made.
 */
export async function setUpDatabase(
  settings: Settings,
  urls: { readonly adminUrl: string; readonly applicationUrl: string },
): Promise<MadeKey | null> {
  let made: MadeKey | null = null;
  await migrate({
    ...urls,
    underLock: async () => {
      await using context = await openContext(settings, urls.applicationUrl);
      const systemActor = await context.database.transaction((queries) =>
        ensureActor(queries, 'system', 'agent-knowledge'),
      );
      const created = await ensureAdminKey(context, systemActor, newKeyMaterial());
      if (!created) return;
      try {
        made = await writeAdminKey(settings, created.key);
      } catch (error) {
        // A key that nobody holds would keep the next start from making one.
        await context.database.transaction((queries) => revokeKey(queries, created.keyId, context.clock()));
        throw unwritten(settings, error);
      }
    },
  });
  return made;
}

/** Written beside and renamed, so that the file is there whole or not at all. */
async function writeAdminKey(settings: Settings, key: string): Promise<MadeKey> {
  const path = adminKeyPath(settings);
  await mkdir(settings.dataDir, { recursive: true, mode: 0o700 });
  const beside = `${path}.${process.pid}`;
  await rm(beside, { force: true });
  try {
    await writeFile(beside, key, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
  // A key that lies there is another database's, mostly: it is kept beside.
  const earlierPath = `${path}.before-${Date.now()}`;
  const hadOne = await renameIfThere(path, earlierPath);
  await rename(beside, path);
  return { path, earlierPath: hadOne ? earlierPath : null };
}

/** An admin key that could not be written is said in words: whom it concerns sees neither `ENOSPC` nor a stack. */
function unwritten(settings: Settings, error: unknown): KnowledgeError {
  const reason = reasonOf(error);
  return new KnowledgeError(
    'UNAVAILABLE',
    `The admin key could not be written to ${adminKeyPath(settings)}: ${reason}. No key was made; mend that and start again.`,
    { cause: error },
  );
}

async function renameIfThere(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw error;
    return false;
  }
}
