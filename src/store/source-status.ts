import { sql } from 'kysely';
import { faultsMessage, firstFindings, isFaulty, type Finding } from '../core/finding.ts';
import type { Queries } from './database.ts';
import { isLive } from './daemons.ts';
import { sourceIsStale } from './package-versions.ts';

/** How the source of a package was when it was last looked at. */
export interface SourceStatusRow {
  readonly agentKey: string;
  readonly environment: string;
  readonly watched: boolean;
  /**
   * How the last look ended (`ok`, `failed`, `changing`, `unknown`), or how the root is where it is not well (`suspect`,
   * `missing`, `returned`), or `degraded`: all is well, but every daemon that watches finds changes by the sweep alone,
   * because its events fail; `message` says why. `registry_rejected`: the offered registry is refused, for `reason`.
   */
  readonly state: string;
  readonly lastLookAt: Date | null;
  readonly lastSuccessAt: Date | null;
  readonly outcome: string | null;
  readonly reason: string | null;
  readonly message: string | null;
  /** Everything that speaks against the package, cut to what a person reads; `message` counts all of it. */
  readonly faults: readonly Finding[];
  /**
   * Since when it is in this state for this reason; null where nobody has looked. `degraded` is well, and counts from when
   * it became so.
   */
  readonly since: Date | null;
  readonly stale: boolean;
}

export interface LookReport {
  readonly state: 'ok' | 'failed' | 'changing';
  readonly outcome: string | null;
  readonly reason: string | null;
  readonly message: string | null;
  readonly faults: readonly Finding[];
  /** Tells one failure from another: reason, path and what the file held; null when the look was no failure. */
  readonly failureSignature: string | null;
}

/** Notes how a look ended; answers the signature of the last failure before it, however long ago it was. */
export async function reportLook(
  queries: Queries,
  agentKey: string,
  environment: string,
  report: LookReport,
): Promise<string | null> {
  const before = await queries
    .selectFrom('source_status')
    .select('failure_signature')
    .where('agent_key', '=', agentKey)
    .where('environment', '=', environment)
    .executeTakeFirst();
  const now = sql<Date>`clock_timestamp()`;
  const values = {
    state: report.state,
    last_look_at: now,
    outcome: report.outcome,
    reason: report.reason,
    message: report.message,
    faults: JSON.stringify(firstFindings(report.faults)) as never,
    since: now,
    ...(report.failureSignature === null ? {} : { failure_signature: report.failureSignature }),
    ...(report.state === 'ok' ? { last_success_at: now } : {}),
  };
  await queries
    .insertInto('source_status')
    .values({ agent_key: agentKey, environment, watched: false, ...values })
    .onConflict((conflict) =>
      conflict.columns(['agent_key', 'environment']).doUpdateSet({ ...values, since: sinceWhen() }),
    )
    .execute();
  return before?.failure_signature ?? null;
}

// The following touch many rows in one statement, always in the same order, so that they cannot meet crosswise.

/** Notes in one statement that many packages were looked at and found unchanged. */
export async function reportUnchanged(
  queries: Queries,
  packages: readonly { readonly agentKey: string; readonly environment: string }[],
): Promise<void> {
  if (packages.length === 0) return;
  const agents = packages.map((name) => name.agentKey);
  const environments = packages.map((name) => name.environment);
  await sql`
    insert into source_status (agent_key, environment, state, last_look_at, last_success_at, outcome, since)
    select agent_key, environment, 'ok', clock_timestamp(), clock_timestamp(), 'UNCHANGED', clock_timestamp()
      from unnest(${agents}::text[], ${environments}::text[]) as looked (agent_key, environment)
      order by agent_key collate "C", environment collate "C"
    on conflict (agent_key, environment) do update set state = 'ok', last_look_at = excluded.last_look_at,
      last_success_at = excluded.last_success_at, outcome = 'UNCHANGED', reason = null, message = null,
      faults = '[]', since = ${sinceWhen()}
  `.execute(queries);
}

/** How the root of a source is where it is not well, for all packages that are read from it. */
export interface RootReport {
  readonly state: 'suspect' | 'missing' | 'returned';
  readonly message: string | null;
}

/**
 * Notes in one statement for all watched packages of these environments that their root is not well. Only a root that is
 * `missing` is how a look ended, and speaks against a package; what came of the last one is left as it is otherwise.
 */
export async function reportRoot(
  queries: Queries,
  environments: readonly string[],
  { state, message }: RootReport,
): Promise<void> {
  const missing = state === 'missing';
  const fault: Finding = {
    code: 'root_missing',
    relativePath: null,
    line: null,
    message: message ?? 'The root folder is missing.',
  };
  const reason = sql<string>`case when ${missing} then 'root_missing' else source_status.reason end`;
  await sql`
    insert into source_status (agent_key, environment, state, since)
    select agent_key, environment, ${state}, clock_timestamp()
      from source_status
      where watched and environment = any(${[...environments]}::text[])
      order by agent_key collate "C", environment collate "C"
    on conflict (agent_key, environment) do update set state = excluded.state, message = ${message},
      last_look_at = case when ${missing} then clock_timestamp() else source_status.last_look_at end,
      outcome = case when ${missing} then 'FAILED' else source_status.outcome end,
      reason = ${reason}, since = ${sinceWhen(reason)},
      faults = case when ${missing} then ${JSON.stringify([fault])}::jsonb else source_status.faults end
  `.execute(queries);
}

/**
 * Notes which packages are watched by themselves: those of these environments and of every live daemon's, for daemons may
 * watch different ones, and none speaks for the others. What is noted already is not touched.
 */
export async function markWatched(queries: Queries, environments: readonly string[]): Promise<void> {
  await sql`
    insert into source_status (agent_key, environment, watched)
    select p.agent_key, p.environment, wanted.watched
      from package p
      cross join lateral (
        select p.enabled and p.listed and (p.environment = any(${[...environments]}::text[])
          or exists (select from daemon d where p.environment = any(d.environments) and ${isLive('d')})) as watched
      ) wanted
      left join source_status s on s.agent_key = p.agent_key and s.environment = p.environment
      where s.watched is distinct from wanted.watched
      order by p.agent_key, p.environment
    on conflict (agent_key, environment) do update set watched = excluded.watched
  `.execute(queries);
}

/**
 * Forgets how the last look ended where nobody looks any more, since the registry lists or enables the package no longer:
 * what spoke against it then is nobody's to mend now. When it was last looked at, and with success, stays.
 */
export async function forgetUnlistedLooks(queries: Queries): Promise<void> {
  await sql`
    insert into source_status (agent_key, environment)
    select s.agent_key, s.environment
      from source_status s
      join package p on p.agent_key = s.agent_key and p.environment = s.environment
      where not (p.enabled and p.listed) and (s.state <> 'unknown' or s.outcome is not null)
      order by s.agent_key collate "C", s.environment collate "C"
    on conflict (agent_key, environment) do update set state = 'unknown', outcome = null, reason = null,
      message = null, faults = '[]', since = null
  `.execute(queries);
}

/** Whether some package is to be refreshed without being asked for. */
export async function watchesAny(queries: Queries): Promise<boolean> {
  const row = await queries
    .selectFrom('source_status')
    .select('watched')
    .where('watched', '=', true)
    .executeTakeFirst();
  return row !== undefined;
}

/** The source status of every named package, staleness included. */
export async function readSourceStatus(
  queries: Queries,
  names: readonly { readonly agentKey: string; readonly environment: string }[],
  staleAfterMs: number,
): Promise<SourceStatusRow[]> {
  if (names.length === 0) return [];
  const rows = await queries
    .selectFrom('package as p')
    .leftJoin('source_status as s', (join) =>
      join.onRef('s.agent_key', '=', 'p.agent_key').onRef('s.environment', '=', 'p.environment'),
    )
    .innerJoin('registry_state as r', (join) => join.on('r.id', '=', true))
    .select(['p.agent_key', 'p.environment', 's.watched', 's.state', 's.last_look_at', 's.last_success_at'])
    .select(['s.outcome', 's.reason', 's.message'])
    .select(sourceIsStale(staleAfterMs).as('stale'))
    .select(whyDegraded().as('why_degraded'))
    .select(['s.faults', 's.since', 'r.rejected_checksum', 'r.changed_at', 'r.faults as registry_faults'])
    .where((where) =>
      where(
        where.refTuple('p.agent_key', 'p.environment'),
        'in',
        names.map((name) => where.tuple(name.agentKey, name.environment)) as never,
      ),
    )
    .execute();
  return rows.map((row) => {
    const state = row.state ?? 'unknown';
    const isWell = state === 'ok' || state === 'unknown';
    const refusal = isWell && row.rejected_checksum !== null ? refusalOf(row) : {};
    return {
      agentKey: row.agent_key,
      environment: row.environment,
      watched: row.watched ?? false,
      state: state === 'ok' && row.why_degraded !== null ? 'degraded' : state,
      lastLookAt: row.last_look_at,
      lastSuccessAt: row.last_success_at,
      outcome: row.outcome,
      reason: row.reason,
      message: row.message ?? row.why_degraded,
      faults: row.faults ?? [],
      since: row.since,
      stale: row.stale,
      ...refusal,
    };
  });
}

/** What a refused registry says of a package whose own last look was well. */
function refusalOf(row: {
  readonly registry_faults: readonly Finding[];
  readonly changed_at: Date;
}): Partial<SourceStatusRow> {
  const { registry_faults: faults, changed_at: since } = row;
  if (!isFaulty(faults)) return {};
  return {
    state: 'registry_rejected',
    reason: faults[0].code,
    message: faultsMessage(faults),
    faults: firstFindings(faults),
    since,
  };
}

/** When a row that is written again came into its state for its reason: now, unless it was in it already. */
function sinceWhen(reason = sql<string>`excluded.reason`) {
  return sql<Date>`case
    when (source_status.state, source_status.reason) is distinct from (excluded.state, ${reason}) then excluded.since
    else coalesce(source_status.since, excluded.since) end`;
}

/** Why no live daemon that watches a package has events for it, in the words of one of them; null where one has. */
function whyDegraded() {
  return sql<string | null>`(select min(d.watcher_message) filter (where d.watcher_state = 'degraded')
    from daemon d
    where s.watched and p.environment = any(d.environments) and ${isLive('d')}
    having bool_and(d.watcher_state = 'degraded'))`;
}
