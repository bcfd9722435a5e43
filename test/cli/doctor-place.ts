import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Check } from '../../src/core/check.ts';
import { sha256 } from '../../src/core/checksum.ts';
import type { DaemonCondition } from '../../src/core/daemon-condition.ts';
import { beatDaemon, leaveDaemon } from '../../src/operations/looker.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { heartbeatOf } from '../support/fake-daemon.ts';
import { makeCliPlace, type CliPlace } from './cli-place.ts';

export const isLong = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';

/** Kinds of trouble that go the same way as one of the others: not planted in the short form. */
const likeOthers = [
  'empty_optional',
  'symlink_inside_root',
  'null_byte',
  'warning daemons root_suspect',
  'warning daemons not_watched',
];
/** Whether this form of the suite plants it. */
export const isTried = (name: string): boolean => isLong || !likeOthers.includes(name);

/** What one run of `doctor --json` said. */
export interface Diagnosis {
  readonly code: number;
  readonly ok: boolean;
  readonly checks: readonly Check[];
}

export async function examine(place: CliPlace): Promise<Diagnosis> {
  const { code, body } = await place.json('doctor');
  return { code, ...(body as unknown as Omit<Diagnosis, 'code'>) };
}

/** What is not well, as `state area name`. */
export function unwell({ checks }: Pick<Diagnosis, 'checks'>): string[] {
  return checks
    .filter((check) => check.state !== 'ok')
    .map(({ state, area, name }) => `${state} ${area} ${name}`);
}

/** A place with a version, a live daemon and a private data folder: nothing is wrong with it. */
export interface HealthyPlace extends AsyncDisposable {
  readonly place: CliPlace;
  readonly database: TestDatabase;
  readonly dataDir: string;
  /** A daemon of this id says that it lives, and how it is. */
  beat(id?: string, condition?: Partial<DaemonCondition>): Promise<void>;
  leave(id: string): Promise<void>;
}

export async function makeHealthyPlace(): Promise<HealthyPlace> {
  const database = await createTestDatabase();
  const place = await makeCliPlace(database, { DATA_DIR: 'data' });
  const dataDir = join(place.folder, 'data');
  await mkdir(dataDir);
  await chmod(dataDir, 0o700);
  await writeFile(join(dataDir, 'admin-key'), 'CANARY-key', { mode: 0o600 });
  await place.run('refresh', place.agentKey);
  const looker = (id: string) => ({ id, actorId: database.context().caller.actorId });
  return {
    place,
    database,
    dataDir,
    beat: async (id = 'daemon', condition = {}) => {
      const registryOffered = sha256(await readFile(place.registryPath));
      const heartbeat = heartbeatOf(looker(id), { registryOffered, ...condition });
      await beatDaemon(database.context(), { ...heartbeat, environments: ['production'] });
    },
    leave: (id) => leaveDaemon(database.context(), looker(id)),
    async [Symbol.asyncDispose]() {
      await place[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}
