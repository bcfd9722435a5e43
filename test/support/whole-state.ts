import { expect } from 'vitest';
import { bundleChecksum, sha256, type BundleLine } from '../../src/core/checksum.ts';
import { eventHash } from '../../src/core/events.ts';
import { listEvents } from '../../src/store/knowledge-events.ts';
import type { TestDatabase } from './database.ts';

/** A package as its tables say, in one snapshot. */
export interface WholePackage {
  readonly numbers: readonly number[];
  readonly checksums: readonly string[];
  readonly active: number | null;
  readonly generation: number;
}

/**
 * The packages by name, after every rule that a death at the wrong moment could break has been checked in the database
 * itself (G1, G2, G3, G6, G14): numbers dense, pointer to a version, checksums those of the bytes, one event per version
 * and per move of a pointer, the chain as recomputed.
 */
export async function readWhole(database: TestDatabase): Promise<ReadonlyMap<string, WholePackage>> {
  const { packages, files, events } = await readSnapshot(database);
  for (const file of files) {
    expect(sha256(file.content), `${file.agent_key} ${file.relative_path}`).toBe(file.checksum);
  }
  const whole = new Map<string, WholePackage>();
  for (const row of packages) {
    const bundles = row.versions.map((version) => bundleOf(files, version.id));
    expect(row.versions.map((version) => version.checksum)).toEqual(bundles);
    const numbers = row.versions.map((version) => version.number);
    expect(numbers).toEqual(Array.from({ length: row.next_number - 1 }, (_, index) => index + 1));
    if (row.active_number !== null) expect(numbers).toContain(row.active_number);
    const told = events.filter((event) => event.agent_key === row.agent_key);
    expect(told.filter((event) => event.action === 'agent.knowledge_loaded')).toHaveLength(numbers.length);
    expect(told.filter((event) => event.moves)).toHaveLength(row.generation);
    whole.set(row.agent_key, {
      numbers,
      checksums: bundles,
      active: row.active_number,
      generation: row.generation,
    });
  }
  await assertChain(database);
  return whole;
}

interface Snapshot {
  readonly packages: readonly {
    agent_key: string;
    next_number: number;
    active_number: number | null;
    generation: number;
    versions: readonly { id: number; number: number; checksum: string }[];
  }[];
  readonly files: readonly {
    agent_key: string;
    version_id: number;
    relative_path: string;
    checksum: string;
    content: Buffer;
  }[];
  readonly events: readonly { agent_key: string; action: string; moves: boolean }[];
}

function readSnapshot(database: TestDatabase): Promise<Snapshot> {
  return database.asSuperuser(async (client) => {
    await client.query('begin isolation level repeatable read');
    const packages = await client.query(`
      select p.agent_key, p.next_number, p.active_number, p.generation::int, coalesce(jsonb_agg(
          jsonb_build_object('id', v.id, 'number', v.number, 'checksum', v.checksum) order by v.number)
        filter (where v.id is not null), '[]') as versions
      from agent_knowledge.package p left join agent_knowledge.package_version v using (agent_key, environment)
      where p.environment = 'production' group by p.agent_key, p.environment order by p.agent_key`);
    const files = await client.query(`
      select v.agent_key, f.version_id::int, f.relative_path, f.checksum, b.content
      from agent_knowledge.version_file f join agent_knowledge.blob b using (checksum)
        join agent_knowledge.package_version v on v.id = f.version_id order by f.version_id, f.load_order`);
    const events = await client.query(`
      select agent_key, action, action = 'agent.knowledge_rollback' or (action = 'agent.knowledge_loaded'
        and (details::jsonb ->> 'activated')::boolean) as moves
      from agent_knowledge.knowledge_event where agent_key is not null`);
    await client.query('commit');
    return { packages: packages.rows, files: files.rows, events: events.rows };
  });
}

function bundleOf(files: Snapshot['files'], versionId: number): string {
  const lines = files.filter((file) => file.version_id === versionId);
  return bundleChecksum(
    lines.map((file) => ({ checksum: file.checksum, relativePath: file.relative_path }) as BundleLine),
  );
}

async function assertChain({ database }: TestDatabase): Promise<void> {
  const everything = { agents: null, environments: null, general: true };
  const events = await database.read((queries) =>
    listEvents(queries, everything, { limit: 100_000, before: null }),
  );
  let previous = '0'.repeat(64);
  for (const [index, event] of events.toReversed().entries()) {
    expect([event.sequence, event.previousHash]).toEqual([index + 1, previous]);
    previous = eventHash({ ...event, actorId: event.actorRef, timeMicros: String(event.atMicros) });
    expect(event.hash).toBe(previous);
  }
}
