import type { DaemonCondition } from '../core/daemon-condition.ts';
import type { SourceType } from '../core/package.ts';
import { ensureActor } from '../store/actors.ts';
import { beat, forgetDaemon, listLiveDaemons } from '../store/daemons.ts';
import { forgetOldKeys } from '../store/idempotency-keys.ts';
import type { PackageName } from '../store/job-queue.ts';
import { listChecksums, type KnownChecksums } from '../store/package-versions.ts';
import { requeueAbandoned } from '../store/refreshes.ts';
import { reportLook, reportUnchanged } from '../store/source-status.ts';
import type { Context } from './context.ts';
import type { Looker } from './refresh-knowledge.ts';

/** Makes the actor in whose name a daemon, or a command line that stands in for one, looks. */
export async function makeLooker(
  context: Context,
  input: { readonly id: string; readonly kind: 'daemon' | 'cli'; readonly name: string },
): Promise<Looker> {
  const actorId = await context.database.transaction((queries) =>
    ensureActor(queries, input.kind, input.name),
  );
  return { id: input.id, actorId };
}

export interface Heartbeat {
  readonly looker: Looker;
  readonly sourceType: SourceType;
  readonly environments: readonly string[];
  readonly resyncSeconds: number;
  readonly host: string;
  readonly processId: number;
  readonly condition: DaemonCondition;
  /** The requests it is working on now. */
  readonly held: readonly string[];
}

/**
 * Says that a daemon lives, takes back what dead ones had begun, and names every package that somebody waits for, so
 * that a lost job costs seconds (F4, F5).
 */
export async function beatDaemon(context: Context, heartbeat: Heartbeat): Promise<PackageName[]> {
  return context.database.read(async (queries) => {
    await beat(queries, { id: heartbeat.looker.id, ...heartbeat });
    await forgetOldKeys(queries);
    const { id } = heartbeat.looker;
    const live = (await listLiveDaemons(queries)).map((daemon) => daemon.id);
    return requeueAbandoned(queries, { id, held: heartbeat.held }, live);
  });
}

/** Says that a daemon has stopped, so that nobody waits for it. */
export async function leaveDaemon(context: Context, looker: Looker): Promise<void> {
  await context.database.read((queries) => forgetDaemon(queries, looker.id));
}

/** Whether any daemon has been heard of lately. */
export async function isDaemonAlive(context: Context): Promise<boolean> {
  return (await context.database.read(listLiveDaemons)).length > 0;
}

/** What each package, or the one named, holds as active and as newest: enough to see that nothing has changed. */
export async function readKnownChecksums(
  context: Context,
  name?: PackageName,
): Promise<readonly KnownChecksums[]> {
  return context.database.read((queries) => listChecksums(queries, name));
}

/** Notes that many packages were looked at and hold what they held. */
export async function noteUnchanged(context: Context, names: readonly PackageName[]): Promise<void> {
  await context.database.read((queries) => reportUnchanged(queries, names));
}

/** Notes that a package keeps changing, so that nothing was captured. */
export async function noteChanging(context: Context, name: PackageName): Promise<void> {
  await context.database.read((queries) =>
    reportLook(queries, name.agentKey, name.environment, {
      state: 'changing',
      outcome: null,
      reason: null,
      message: 'The files have kept changing for as long as this environment waits; nothing was captured.',
      faults: [],
      failureSignature: null,
    }),
  );
}
