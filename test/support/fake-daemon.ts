import type { DaemonCondition } from '../../src/core/daemon-condition.ts';
import type { CallContext } from '../../src/operations/context.ts';
import { beatDaemon, leaveDaemon, type Heartbeat } from '../../src/operations/looker.ts';
import { abandonLook, openLook, type Looker } from '../../src/operations/refresh-knowledge.ts';
import type { TestDatabase } from './database.ts';
import { lookAt, type TestPackage } from './knowledge.ts';

/** Something that lives and answers refreshes, without a folder to watch. */
export interface FakeDaemon extends AsyncDisposable {
  /** From now on refreshes of this package find these files. */
  show(input: TestPackage): void;
}

/** What a healthy daemon that watches nothing by itself says of itself. */
export function heartbeatOf(looker: Looker, condition: Partial<DaemonCondition> = {}): Heartbeat {
  const healthy = { root: 'ok', rootMessage: null, watcher: 'native', watcherMessage: null } as const;
  return {
    looker,
    sourceType: 'local',
    environments: [],
    resyncSeconds: 30,
    host: 'nowhere',
    processId: 0,
    condition: { ...healthy, registryOffered: null, drive: null, ...condition },
    held: [],
  };
}

/** A live daemon whose sources are what a test shows it; it asks every few milliseconds who waits. */
export async function startFakeDaemon(testDatabase: TestDatabase): Promise<FakeDaemon> {
  const context = testDatabase.context();
  const looker = { id: 'fake-daemon', actorId: context.caller.actorId };
  const heartbeat = heartbeatOf(looker);
  const sources = new Map<string, TestPackage>();
  const ending = new AbortController();
  const work = async () => {
    while (!ending.signal.aborted) {
      for (const name of await beatDaemon(context, heartbeat)) {
        const source = sources.get(`${name.agentKey} ${name.environment}`);
        if (source) await lookAt(testDatabase, source);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  await beatDaemon(context, heartbeat);
  const working = work();
  return {
    show: (input) => void sources.set(nameOf(context, input), input),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await working;
      await leaveDaemon(context, looker);
    },
  };
}

/** Takes the requests that wait for a package, as a daemon does before it looks, and gives a way to put them back. */
export async function takeRequests(
  testDatabase: TestDatabase,
  name: { agentKey: string; environment: string },
) {
  const context = testDatabase.context();
  const open = await openLook(context, { id: 'taker', actorId: context.caller.actorId }, name);
  return { putBack: () => abandonLook(context, open.attempts) };
}

function nameOf({ policy }: CallContext, { agentKey, environment }: TestPackage): string {
  return `${agentKey} ${environment ?? policy.defaultEnvironment}`;
}
