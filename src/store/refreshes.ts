import type { Finding } from '../core/finding.ts';
import type { Queries } from './database.ts';

export const refreshOutcomes = [
  'LOADED',
  'UNCHANGED',
  'FAILED',
  'VALIDATION_FAILED',
  'REGISTRY_REJECTED',
  'SUPERSEDED',
] as const;
export type RefreshOutcome = (typeof refreshOutcomes)[number];

/** A refresh that somebody asked for. */
export interface AttemptRow {
  readonly id: string;
  readonly agentKey: string;
  readonly environment: string;
  readonly actorId: number;
  readonly acceptShrink: boolean;
  readonly state: 'QUEUED' | 'RUNNING' | 'DONE';
  readonly outcome: RefreshOutcome | null;
  readonly reason: string | null;
  readonly message: string | null;
  readonly faults: readonly Finding[];
  readonly warnings: readonly Finding[];
  readonly matchingNumber: number | null;
  readonly loadedNumber: number | null;
}

export interface AttemptResult {
  readonly outcome: RefreshOutcome;
  readonly reason: string | null;
  readonly message: string | null;
  readonly faults: readonly Finding[];
  readonly warnings: readonly Finding[];
  readonly matchingNumber: number | null;
  readonly loadedNumber: number | null;
}

export async function insertAttempt(
  queries: Queries,
  attempt: Pick<AttemptRow, 'id' | 'agentKey' | 'environment' | 'actorId' | 'acceptShrink'>,
): Promise<void> {
  await queries
    .insertInto('refresh_attempt')
    .values({
      id: attempt.id,
      agent_key: attempt.agentKey,
      environment: attempt.environment,
      actor_id: attempt.actorId,
      accept_shrink: attempt.acceptShrink,
      state: 'QUEUED',
    })
    .execute();
}

export async function findAttempts(queries: Queries, ids: readonly string[]): Promise<AttemptRow[]> {
  if (ids.length === 0) return [];
  const rows = await queries.selectFrom('refresh_attempt').selectAll().where('id', 'in', ids).execute();
  return rows.map(toAttempt);
}

/** Why an attempt that nobody could carry out for now waits again; its message says it in words. */
export const unavailableReason = 'unavailable';

/** Which of these attempts are done or have met trouble that passes; the cheap question of everybody who waits. */
export async function findAnswered(queries: Queries, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await queries
    .selectFrom('refresh_attempt')
    .select('id')
    .where('id', 'in', ids)
    .where((attempt) =>
      attempt.or([attempt('state', '=', 'DONE'), attempt('reason', '=', unavailableReason)]),
    )
    .execute();
  return rows.map((row) => row.id);
}

/**
 * Writes the open attempts of an attempt's package as they are, as a looker that takes them would: where the disk is so
 * full that not even that can be written, nobody can leave word of it there, and this is how it is noticed (F29).
 */
export async function touchOpenAttempts(queries: Queries, id: string): Promise<void> {
  await queries
    .updateTable('refresh_attempt')
    .set((attempt) => ({ state: attempt.ref('state') }))
    .where('state', '<>', 'DONE')
    .where((attempt) =>
      attempt(
        attempt.refTuple('agent_key', 'environment'),
        'in',
        attempt
          .selectFrom('refresh_attempt as asked')
          .select(['asked.agent_key', 'asked.environment'])
          .where('asked.id', '=', id)
          .$asTuple('agent_key', 'environment'),
      ),
    )
    .execute();
}

/**
 * Takes every queued attempt of a package for one looker, oldest first. Call it before the look: an attempt that is
 * asked for later must see a later look.
 */
export async function claimAttempts(
  queries: Queries,
  agentKey: string,
  environment: string,
  daemonId: string,
): Promise<AttemptRow[]> {
  const rows = await queries
    .updateTable('refresh_attempt')
    // What stood in the way of the attempt before stays until this one is answered: whoever waits may not have read it.
    .set({ state: 'RUNNING', daemon_id: daemonId })
    .where('agent_key', '=', agentKey)
    .where('environment', '=', environment)
    .where('state', '=', 'QUEUED')
    .returningAll()
    .execute();
  return rows.map(toAttempt).toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** Ends attempts that are still open; an answer given once stays. */
export async function finishAttempts(
  queries: Queries,
  ids: readonly string[],
  result: AttemptResult,
): Promise<void> {
  if (ids.length === 0) return;
  await queries
    .updateTable('refresh_attempt')
    .set({
      state: 'DONE',
      outcome: result.outcome,
      reason: result.reason,
      message: result.message,
      faults: JSON.stringify(result.faults) as never,
      warnings: JSON.stringify(result.warnings) as never,
      matching_number: result.matchingNumber,
      loaded_number: result.loadedNumber,
      finished_at: new Date(),
    })
    .where('id', 'in', ids)
    .where('state', '<>', 'DONE')
    .execute();
}

/**
 * Puts back what nobody works on any more, taken by lookers that are gone or lost by the one that asks (`held` is what
 * it still works on), and names every package with an attempt that waits.
 */
export async function requeueAbandoned(
  queries: Queries,
  looker: { readonly id: string; readonly held: readonly string[] },
  liveDaemons: readonly string[],
): Promise<{ agentKey: string; environment: string }[]> {
  const others = liveDaemons.filter((id) => id !== looker.id);
  await queries
    .updateTable('refresh_attempt')
    .set({ state: 'QUEUED', daemon_id: null })
    .where('state', '=', 'RUNNING')
    .where('daemon_id', 'not in', [...others, ''])
    .where('id', 'not in', [...looker.held, ''])
    .execute();
  const rows = await queries
    .selectFrom('refresh_attempt')
    .select(['agent_key', 'environment'])
    .distinct()
    .where('state', '=', 'QUEUED')
    .execute();
  return rows.map((row) => ({ agentKey: row.agent_key, environment: row.environment }));
}

/**
 * Puts back what this looker has taken and cannot finish. `trouble`: what keeps everybody from it for now, in words for
 * those who wait; the attempt stays and is taken up again when that has passed.
 */
export async function releaseAttempts(
  queries: Queries,
  ids: readonly string[],
  trouble: string | null = null,
): Promise<void> {
  if (ids.length === 0) return;
  const reason = trouble === null ? null : unavailableReason;
  await queries
    .updateTable('refresh_attempt')
    .set({ state: 'QUEUED', daemon_id: null, reason, message: trouble })
    .where('id', 'in', ids)
    .where('state', '=', 'RUNNING')
    .execute();
}

function toAttempt(row: {
  id: string;
  agent_key: string;
  environment: string;
  actor_id: number;
  accept_shrink: boolean;
  state: string;
  outcome: string | null;
  reason: string | null;
  message: string | null;
  faults: Finding[];
  warnings: Finding[];
  matching_number: number | null;
  loaded_number: number | null;
}): AttemptRow {
  return {
    id: row.id,
    agentKey: row.agent_key,
    environment: row.environment,
    actorId: row.actor_id,
    acceptShrink: row.accept_shrink,
    state: row.state as AttemptRow['state'],
    outcome: row.outcome as RefreshOutcome | null,
    reason: row.reason,
    message: row.message,
    faults: row.faults,
    warnings: row.warnings,
    matchingNumber: row.matching_number,
    loadedNumber: row.loaded_number,
  };
}
