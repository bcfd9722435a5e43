import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '../../src/core/checksum.ts';
import type { DriveCondition } from '../../src/core/daemon-condition.ts';
import { beatDaemon } from '../../src/operations/looker.ts';
import type { TestDatabase } from '../support/database.ts';
import { heartbeatOf } from '../support/fake-daemon.ts';
import { startFakeGraph, type FakeGraph } from '../support/fake-graph/fake-graph.ts';
import { makeFolder, type TemporaryFolder } from '../support/source-folder.ts';
import { core, makeCliPlace, rules, type CliPlace, type Ended } from './cli-place.ts';

/** A drive with the two required files, and a command line whose settings lead there. */
export interface DrivePlace extends AsyncDisposable {
  readonly fake: FakeGraph;
  readonly place: CliPlace;
  /** Its `root` is the drive. */
  readonly drive: TemporaryFolder;
  run(...arguments_: string[]): Promise<Ended>;
  /** A daemon that watches the drive says that it lives. */
  beat(database: TestDatabase, drive?: Partial<DriveCondition>): Promise<void>;
}

/** Everything that a command line printed in this file's drives, and every secret that it must not print. */
export const printed: string[] = [];
export const secrets = new Set<string>(['tempauth']);

export interface DrivePlaceWanted {
  readonly database?: TestDatabase | null;
  /** The ready token; by default one that says what it may. */
  readonly token?: string;
  /** Settings beside or instead of the usual ones, without their prefix; empty ones are left out. */
  readonly settings?:
    | Readonly<Record<string, string>>
    | ((fake: FakeGraph) => Readonly<Record<string, string>>);
}

export async function makeDrivePlace(wanted: DrivePlaceWanted = {}): Promise<DrivePlace> {
  await using stack = new AsyncDisposableStack();
  const [first, second] = ['# Core\nBe kind.\n', '# Rules\nAsk first.\n'];
  const drive = stack.use(await makeFolder({ [`root/${core}`]: first, [`root/${rules}`]: second }));
  const token = wanted.token ?? tokenWith({ roles: ['Sites.Selected'], expiresInSeconds: 3600 });
  const fake = stack.use(await startFakeGraph({ root: drive.root, token }));
  const { settings = {} } = wanted;
  const own = typeof settings === 'function' ? settings(fake) : settings;
  const all = { DATA_DIR: 'data', ...withoutPrefix(fake.environment()), ...own };
  const set = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
  const place = stack.use(await makeCliPlace(wanted.database ?? null, set));
  await mkdir(join(place.folder, 'data'));
  await chmod(join(place.folder, 'data'), 0o700);
  await writeFile(join(place.folder, 'data/admin-key'), 'CANARY-key', { mode: 0o600 });
  for (const secret of [token, fake.clientSecret, fake.sharingLink, 'CANARY-key']) secrets.add(secret);
  const opened = stack.move();
  return {
    fake,
    place,
    drive,
    async run(...arguments_) {
      const ended = await place.run(...arguments_);
      printed.push(ended.out, ended.err);
      return ended;
    },
    beat: (database, condition) => beat(place, database, condition),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function beat(place: CliPlace, database: TestDatabase, drive: Partial<DriveCondition> = {}) {
  const context = database.context();
  const looker = { id: 'daemon', actorId: context.caller.actorId };
  const registryOffered = sha256(await readFile(place.registryPath));
  const heartbeat = heartbeatOf(looker, { registryOffered, watcher: 'poll', drive: { ...idle, ...drive } });
  await beatDaemon(context, { ...heartbeat, sourceType: 'graph', environments: ['production'] });
}

const idle: DriveCondition = {
  driveId: null,
  phase: 'waits',
  pages: 1,
  items: 0,
  hints: 0,
  lastRoundAt: null,
  nextRoundAt: null,
  lastError: null,
  waitsUntil: null,
  notifiedUntil: null,
  requests: 3,
  units: 5,
};

/** A token as the authority makes them, as far as it can be read here. */
export function tokenWith(facts: {
  readonly roles: readonly string[];
  readonly expiresInSeconds: number;
}): string {
  const exp = Math.floor(Date.now() / 1000) + facts.expiresInSeconds;
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ typ: 'JWT' })}.${part({ roles: facts.roles, exp, appid: crypto.randomUUID() })}.c2lnbmF0dXJl`;
}

function withoutPrefix(environment: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [name.replace('AGENT_KNOWLEDGE_', ''), value]),
  );
}
