import { cp, lstat, mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Settings } from '../../config/settings.ts';
import { KnowledgeError } from '../core/errors.ts';
import { reasonOf } from '../store/embedded-postgres/plain-words.ts';
import { hasVersions } from '../store/has-versions.ts';
import { projectRoot } from './environment.ts';
import { openContext } from './runtime.ts';

/**
 * Copies the sample to the knowledge folder where that does not exist and the database holds no version at all, whole or
 * not at all; answers whether it did. A folder that is missing beside versions is one that is lost, such as a drive that
 * is not mounted: nothing may take its place, or it would be captured as the next version.
 *
 * Throws `UNAVAILABLE` in words where the folder cannot be made.
 */
export async function offerSample(settings: Settings, applicationUrl: string): Promise<boolean> {
  if (!(await isAbsent(settings.localPath))) return false;
  await using context = await openContext(settings, applicationUrl);
  if (await context.database.read(hasVersions)) return false;
  await copySample(settings.localPath);
  return true;
}

/** Only what is not there at all: a folder that this user cannot reach, or a link that leads nowhere now, is another's. */
async function isAbsent(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return false;
  } catch (error) {
    return (error as { code?: string }).code === 'ENOENT';
  }
}

async function copySample(folder: string): Promise<void> {
  const beside = `${folder}.${process.pid}`;
  try {
    await mkdir(dirname(folder), { recursive: true });
    await rm(beside, { recursive: true, force: true });
    await cp(join(projectRoot, 'config/sample'), beside, { recursive: true });
    await rename(beside, folder);
  } catch (error) {
    await rm(beside, { recursive: true, force: true }).catch(() => undefined); // What failed is told, not this.
    // The person knows no other folder than the one in the settings.
    const reason = reasonOf(error).replaceAll(beside, folder);
    throw new KnowledgeError(
      'UNAVAILABLE',
      `The knowledge folder ${folder} is not there and could not be made: ${reason}. Make it, or name another one in AGENT_KNOWLEDGE_LOCAL_PATH.`,
      { cause: error },
    );
  }
}
