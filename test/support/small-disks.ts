import { execFile } from 'node:child_process';
import { rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Settings } from '../../config/settings.ts';
import { startPostgresPart, supervisePostgres } from '../../src/main/embedded-part.ts';
import { setUpDatabase } from '../../src/main/setup-database.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded-postgres.ts';
import { oneAgentSettings } from './own-product.ts';
import { databaseUrl, readSuperuserUrl } from './test-server.ts';
import { mountVolume, type Volume } from './volumes.ts';

/** A supervised, migrated embedded PostgreSQL whose disks a test fills. */
export interface SmallDisks {
  readonly data: Volume;
  /** Of the write-ahead log. */
  readonly log: Volume;
  /** What the supervisor has told. */
  readonly lines: readonly string[];
  readonly settings: Settings;
  readonly superuser: string;
  readonly applicationUrl: string;
}

/** The embedded PostgreSQL on small disks: its data on one, its write-ahead log on another. */
export async function startOnVolumes(
  stack: AsyncDisposableStack,
  folder: string,
  megabytes: { readonly data: number; readonly log: number },
): Promise<SmallDisks> {
  const dataDir = join(folder, 'data');
  const data = stack.use(await mountVolume(dataDir, { mebibytes: megabytes.data }));
  const log = stack.use(await mountVolume(join(folder, 'wal'), { mebibytes: megabytes.log }));
  await (await startEmbeddedPostgres({ dataDir })).stop();
  await moveLog(join(dataDir, 'postgres', 'pg_wal'), join(log.folder, 'pg_wal'));
  const lines: string[] = [];
  const first = await startPostgresPart(dataDir);
  stack.use(supervisePostgres(first, dataDir, (line) => void lines.push(line)));
  const settings = await oneAgentSettings(folder, dataDir);
  await setUpDatabase(settings, first.server);
  const superuser = databaseUrl(await readSuperuserUrl(dataDir), 'agent_knowledge');
  return { data, log, lines, settings, superuser, applicationUrl: first.server.applicationUrl };
}

async function moveLog(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to]);
  await rm(from, { recursive: true });
  await symlink(to, from);
}
