import type { Client } from 'pg';
import { sha256 } from '../../../src/core/checksum.ts';
import type { HashedEvent } from '../../../src/core/events.ts';
import type { SeenFile } from './record.ts';

export interface FinalVersion {
  readonly number: number;
  readonly checksum: string;
  /** In load order. */
  readonly files: readonly SeenFile[];
}

/** A package as its row and its versions are. */
export interface FinalPackage {
  /** `<agent key>/<environment>`. */
  readonly name: string;
  readonly nextNumber: number;
  readonly active: number | null;
  readonly generation: number;
  readonly held: boolean;
  /** By number. */
  readonly versions: readonly FinalVersion[];
}

export type FinalEvent = HashedEvent & { readonly hash: string; readonly actorName: string | null };

/** All that a database holds of the history it went through. */
export interface FinalState {
  readonly packages: readonly FinalPackage[];
  /** The whole log, oldest first. */
  readonly events: readonly FinalEvent[];
}

/** Reads everything in one snapshot, past every layer of the product; the bytes are hashed here. */
export async function readFinalState(client: Client): Promise<FinalState> {
  await client.query('begin isolation level repeatable read read only');
  try {
    const state = { packages: await readPackages(client), events: await readEvents(client) };
    await client.query('commit');
    return state;
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

async function readPackages(client: Client): Promise<FinalPackage[]> {
  const versions = await readVersions(client);
  const { rows } = await client.query<Omit<FinalPackage, 'versions'>>(`
    select agent_key || '/' || environment as name, next_number as "nextNumber", active_number as active,
      generation::int, hold_cause is not null as held
    from agent_knowledge.package order by agent_key, environment`);
  return rows.map((row) => ({ ...row, versions: versions.get(row.name) ?? [] }));
}

async function readVersions(client: Client): Promise<Map<string, FinalVersion[]>> {
  const blobs = await client.query<{ checksum: string; content: Buffer }>(
    'select checksum, content from agent_knowledge.blob',
  );
  const hashes = new Map(blobs.rows.map(({ checksum, content }) => [checksum, sha256(content)]));
  const { rows } = await client.query<{
    name: string;
    number: number;
    checksum: string;
    paths: string[];
    checksums: string[];
  }>(`
    select v.agent_key || '/' || v.environment as name, v.number, v.checksum,
      coalesce(array_agg(f.relative_path order by f.load_order) filter (where f.version_id is not null), '{}') as paths,
      coalesce(array_agg(f.checksum order by f.load_order) filter (where f.version_id is not null), '{}') as checksums
    from agent_knowledge.package_version v left join agent_knowledge.version_file f on f.version_id = v.id
    group by v.id order by v.number`);
  const versions = new Map<string, FinalVersion[]>();
  for (const { name, number, checksum, paths, checksums } of rows) {
    const files = paths.map((relativePath, index) => {
      const said = checksums[index] ?? '';
      return { relativePath, checksum: said, contentChecksum: hashes.get(said) ?? null };
    });
    versions.set(name, [...(versions.get(name) ?? []), { number, checksum, files }]);
  }
  return versions;
}

async function readEvents(client: Client): Promise<FinalEvent[]> {
  const { rows } = await client.query<FinalEvent>(`
    select epoch, sequence::int, previous_hash as "previousHash", at_micros::text as "timeMicros",
      actor_ref as "actorId", action, agent_key as "agentKey", environment, subject, details, hash,
      name as "actorName"
    from agent_knowledge.knowledge_event left join agent_knowledge.actor_name using (actor_id) order by sequence`);
  return rows;
}
