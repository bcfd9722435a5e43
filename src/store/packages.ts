import { sql, type Updateable } from 'kysely';
import { reach } from '../core/failpoint.ts';
import type { Sha256 } from '../core/package.ts';
import { asLockError } from './database-errors.ts';
import type { Queries, Tables } from './database.ts';

/** A package as its row says: where the pointer stands, what holds it, and the registry's present labels. */
export interface PackageRow {
  readonly agentKey: string;
  readonly environment: string;
  readonly nextNumber: number;
  readonly activeNumber: number | null;
  readonly generation: number;
  readonly lastTicket: number;
  readonly hold: HoldRow | null;
  readonly agentCode: string;
  readonly stage: string;
  readonly packageVersion: string;
  readonly registryVersion: string;
  readonly enabled: boolean;
  readonly listed: boolean;
}

export const holdCauses = ['OPERATOR', 'SHRANK', 'RATE'] as const;
export type HoldCause = (typeof holdCauses)[number];

export interface HoldRow {
  readonly cause: HoldCause;
  readonly actorId: number;
  readonly actorName: string | null;
  readonly at: Date;
  readonly reason: string | null;
}

export interface PackageLabels {
  readonly agentCode: string;
  readonly stage: string;
  readonly packageVersion: string;
  readonly registryVersion: string;
  readonly enabled: boolean;
}

/**
 * Locks a package for the rest of the transaction and answers its row; null when there is none. Everything that moves
 * a pointer, a counter or a hold begins with this lock (G1, G2).
 */
export async function lockPackage(
  queries: Queries,
  agentKey: string,
  environment: string,
): Promise<PackageRow | null> {
  const row = await selectPackages(queries)
    .where('package.agent_key', '=', agentKey)
    .where('package.environment', '=', environment)
    .forUpdate('package')
    .executeTakeFirst()
    .catch((error: unknown) => {
      throw asLockError(error);
    });
  return row ? toPackageRow(row) : null;
}

export async function findPackage(
  queries: Queries,
  agentKey: string,
  environment: string,
): Promise<PackageRow | null> {
  const row = await selectPackages(queries)
    .where('package.agent_key', '=', agentKey)
    .where('package.environment', '=', environment)
    .executeTakeFirst();
  return row ? toPackageRow(row) : null;
}

/** The packages of an environment by agent key: listed ones, and unlisted ones that have versions. */
export async function listPackages(queries: Queries, environment: string): Promise<PackageRow[]> {
  const rows = await selectPackages(queries)
    .where('package.environment', '=', environment)
    .where((where) => where.or([where('listed', '=', true), where('next_number', '>', 1)]))
    .orderBy('package.agent_key')
    .execute();
  return rows.map(toPackageRow);
}

/** Gives out the next number; the row must be locked. */
export async function takeNumber(queries: Queries, locked: PackageRow): Promise<void> {
  await update(queries, locked, { next_number: locked.nextNumber + 1 });
  reach('after counter');
}

/** Notes that a look has finished, so that an older one can no longer write (G10). */
export async function raiseTicket(queries: Queries, locked: PackageRow, ticket: number): Promise<void> {
  await update(queries, locked, { last_ticket: ticket });
}

/** K-068: moves the pointer, and nothing else. The generation is the database's to count. */
export async function movePointer(queries: Queries, locked: PackageRow, number: number): Promise<void> {
  await update(queries, locked, { active_number: number });
  reach('after pointer');
}

export async function setHold(
  queries: Queries,
  locked: PackageRow,
  hold: { cause: HoldCause; actorId: number; at: Date; reasonHash: Sha256 },
): Promise<void> {
  await update(queries, locked, {
    hold_cause: hold.cause,
    hold_actor_id: hold.actorId,
    hold_at: hold.at,
    hold_reason_hash: hold.reasonHash,
  });
}

export async function endHold(queries: Queries, locked: PackageRow): Promise<void> {
  await update(queries, locked, {
    hold_cause: null,
    hold_actor_id: null,
    hold_at: null,
    hold_reason_hash: null,
  });
}

/**
 * Adds packages that are new and brings the labels of the others up to date. A package that is as it should be is not
 * touched: a registry offered again must not wait for the packages that are busy, nor leave a dead row for each.
 */
export async function upsertPackages(
  queries: Queries,
  packages: readonly (PackageLabels & { readonly agentKey: string; readonly environment: string })[],
): Promise<void> {
  const wanted = JSON.stringify(
    packages.map((row) => ({
      agent_key: row.agentKey,
      environment: row.environment,
      agent_code: row.agentCode,
      stage: row.stage,
      package_version: row.packageVersion,
      registry_version: row.registryVersion,
      enabled: row.enabled,
    })),
  );
  await sql`
    insert into package (agent_key, environment, agent_code, stage, package_version, registry_version, enabled, listed)
    select w.agent_key, w.environment, w.agent_code, w.stage, w.package_version, w.registry_version, w.enabled, true
      from jsonb_to_recordset(${wanted}::jsonb) as w (agent_key text, environment text, agent_code text, stage text,
        package_version text, registry_version text, enabled boolean)
      left join package p on p.agent_key = w.agent_key and p.environment = w.environment
      where (p.agent_code, p.stage, p.package_version, p.registry_version, p.enabled, p.listed)
        is distinct from (w.agent_code, w.stage, w.package_version, w.registry_version, w.enabled, true)
      order by w.agent_key, w.environment
    on conflict (agent_key, environment) do update set agent_code = excluded.agent_code, stage = excluded.stage,
      package_version = excluded.package_version, registry_version = excluded.registry_version,
      enabled = excluded.enabled, listed = excluded.listed
  `.execute(queries);
}

/** Marks every package whose agent the registry no longer lists. */
export async function unlistPackages(queries: Queries, listedAgents: readonly string[]): Promise<void> {
  await queries
    .updateTable('package')
    .set({ listed: false, enabled: false })
    .where('agent_key', 'not in', [...listedAgents, ''])
    .where('listed', '=', true)
    .execute();
}

async function update(
  queries: Queries,
  locked: PackageRow,
  values: Updateable<Tables['package']>,
): Promise<void> {
  await queries
    .updateTable('package')
    .set(values)
    .where('agent_key', '=', locked.agentKey)
    .where('environment', '=', locked.environment)
    .execute();
}

function selectPackages(queries: Queries) {
  return queries
    .selectFrom('package')
    .leftJoin('actor_name', 'actor_name.actor_id', 'package.hold_actor_id')
    .leftJoin('remark', 'remark.hash', 'package.hold_reason_hash')
    .selectAll('package')
    .select(['actor_name.name as hold_actor_name', 'remark.body as hold_reason']);
}

type SelectedPackage = Awaited<ReturnType<ReturnType<typeof selectPackages>['execute']>>[number];

function toPackageRow(row: SelectedPackage): PackageRow {
  return {
    agentKey: row.agent_key,
    environment: row.environment,
    nextNumber: row.next_number,
    activeNumber: row.active_number,
    generation: row.generation,
    lastTicket: row.last_ticket,
    hold: toHold(row),
    agentCode: row.agent_code,
    stage: row.stage,
    packageVersion: row.package_version,
    registryVersion: row.registry_version,
    enabled: row.enabled,
    listed: row.listed,
  };
}

function toHold(row: SelectedPackage): HoldRow | null {
  if (row.hold_cause === null || row.hold_actor_id === null || row.hold_at === null) return null;
  return {
    cause: row.hold_cause as HoldCause,
    actorId: row.hold_actor_id,
    actorName: row.hold_actor_name,
    at: row.hold_at,
    reason: row.hold_reason,
  };
}
