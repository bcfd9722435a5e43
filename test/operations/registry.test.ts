import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sha256 } from '../../src/core/checksum.ts';
import { acceptRegistry, readRegistryInForce } from '../../src/operations/accept-registry.ts';
import type { CallContext } from '../../src/operations/context.ts';
import { readAuditLog } from '../../src/operations/read-audit-log.ts';
import {
  readActiveVersion,
  readPackage,
  readPackages,
  readStatuses,
} from '../../src/operations/read-knowledge.ts';
import { finishLook, openLook } from '../../src/operations/refresh-knowledge.ts';
import { Database } from '../../src/store/database.ts';
import { createTestDatabase, testPolicy, type TestDatabase } from '../support/database.ts';
import { lookOf } from '../support/looks.ts';

let database: TestDatabase;
let context: CallContext;
beforeAll(async () => {
  database = await createTestDatabase();
  context = database.context();
});
afterAll(() => database[Symbol.asyncDispose]());

// One registry is in force in a database, so every test puts another in force, of agents that no other test has, and
// looks at what came after.
let eventsBefore = 0;
beforeEach(async () => {
  eventsBefore = (await readAuditLog(context, {})).rows[0]!.sequence;
});

interface Agent {
  readonly enabled?: boolean;
  readonly stage?: string;
  readonly label?: string;
  readonly files?: readonly string[];
}

function registry(agents: Record<string, Agent>, version = '1.0'): Uint8Array {
  const entries = Object.entries(agents).map(([key, agent]) => [
    key,
    {
      enabled: agent.enabled ?? true,
      agent_code: `CODE-${key}`,
      stage: agent.stage ?? 'test',
      package_version: agent.label ?? 'v01',
      files: (agent.files ?? ['core.md']).map((path, index) => ({
        relative_path: path,
        load_order: index + 1,
        required: true,
      })),
    },
  ]);
  return Buffer.from(JSON.stringify({ registry_version: version, agents: Object.fromEntries(entries) }));
}

const offer = (
  bytes: Uint8Array | null,
  within = context,
  watchEnvironments: readonly string[] = ['production'],
) =>
  acceptRegistry(within, {
    bytes,
    looker: { id: 'here', actorId: context.caller.actorId },
    watchEnvironments,
  });

const bad = Buffer.from('{"registry_version":"1.0","agents":{"a":{},"a":{}}}');

/** What this test has brought into the log. */
async function registryEvents() {
  const { rows } = await readAuditLog(context, {});
  return rows
    .filter((event) => event.sequence > eventsBefore && event.action.startsWith('agent.registry'))
    .toReversed()
    .map(({ action, subject, details }) => ({ action, subject, details: JSON.parse(details) as unknown }));
}

describe('a registry that is refused before there was a good one', () => {
  it('leaves nothing in force', async () => {
    expect(await offer(bad)).toMatchObject({ registry: null, changed: false });
    expect(await readRegistryInForce(context)).toMatchObject({ registry: null });
    expect(await readPackages(context)).toEqual([]);
  });
});

describe('a valid registry', () => {
  it('is put in force, with a package for each agent in each environment, and audited once', async () => {
    const bytes = registry({ anna: {}, ben: { enabled: false } });
    expect(await offer(bytes)).toMatchObject({
      changed: true,
      faults: [],
      registry: { checksum: sha256(bytes) },
    });
    expect(await offer(bytes)).toMatchObject({ changed: false, faults: [] });
    for (const environment of testPolicy.environments) {
      expect(await readPackages(context, environment)).toMatchObject([
        { agentKey: 'anna', environment, enabled: true, listed: true, nextNumber: 1, activeNumber: null },
        { agentKey: 'ben', environment, enabled: false, listed: true },
      ]);
    }
    expect(await registryEvents()).toEqual([
      {
        action: 'agent.registry_changed',
        subject: sha256(bytes),
        details: {
          registryVersion: '1.0',
          registryChecksum: sha256(bytes),
          previous: null,
          agents: ['anna', 'ben'],
        },
      },
    ]);
  });

  it('shows new labels on the package at once; versions keep theirs, and labels make none', async () => {
    await offer(registry({ anna_2: {} }));
    await refresh('anna_2', 'one');
    await offer(registry({ anna_2: { stage: 'second', label: 'v02' } }, '2.0'));
    const labels = { stage: 'second', packageVersion: 'v02', registryVersion: '2.0' };
    expect(await readPackage(context, 'anna_2')).toMatchObject(labels);
    expect(await refresh('anna_2', 'one')).toMatchObject({ outcome: 'UNCHANGED', matchingNumber: 1 });
    expect(await readActiveVersion(context, { agentKey: 'anna_2' })).toMatchObject({
      stage: 'test',
      packageVersion: 'v01',
      registryVersion: '1.0',
    });
    await refresh('anna_2', 'two');
    expect(await readActiveVersion(context, { agentKey: 'anna_2' })).toMatchObject(labels);
  });

  it('keeps what it no longer lists readable, marked, and brings it back with its numbers', async () => {
    await offer(registry({ anna_3: {}, ben_3: {} }));
    await refresh('anna_3', 'one');
    await offer(registry({ carl_3: {} }));
    expect(await readPackage(context, 'anna_3')).toMatchObject({ listed: false, enabled: false });
    const rows = await readPackages(context);
    expect(rows.filter((row) => row.agentKey.endsWith('_3')).map((row) => row.agentKey)).toEqual([
      'anna_3', // Has versions.
      'carl_3',
    ]);
    expect(rows.filter((row) => row.listed).map((row) => row.agentKey)).toEqual(['carl_3']);
    expect(await readActiveVersion(context, { agentKey: 'anna_3' })).toMatchObject({ number: 1 });
    await offer(registry({ anna_3: {} }));
    expect(await readPackage(context, 'anna_3')).toMatchObject({
      listed: true,
      enabled: true,
      nextNumber: 2,
    });
  });

  it('touches no package that is as it should be when it is offered again', async () => {
    const bytes = registry({ anna_4: {}, ben_4: {} });
    await offer(bytes);
    const before = await rowStates();
    expect(before.length).toBeGreaterThan(6);
    await offer(bytes);
    expect(await rowStates()).toEqual(before);
  });

  it('has packages in an environment that the settings have got since', async () => {
    const bytes = registry({ anna_5: {} });
    await offer(bytes);
    const grown = database.context({ policy: { environments: [...testPolicy.environments, 'lab'] } });
    expect(await offer(bytes, grown)).toMatchObject({ changed: false });
    expect(await readPackages(grown, 'lab')).toMatchObject([{ agentKey: 'anna_5', listed: true }]);
  });

  it('is watched where the daemons watch, and only there', async () => {
    await offer(registry({ anna_6: {}, ben_6: { enabled: false } }), context, ['dev']);
    const names = ['anna_6', 'ben_6'].flatMap((agentKey) =>
      ['dev', 'production'].map((environment) => ({ agentKey, environment })),
    );
    const watched = (await readStatuses(context, names)).filter((status) => status.watched);
    expect(watched).toMatchObject([{ agentKey: 'anna_6', environment: 'dev', stale: true }]);
  });
});

describe('a registry that is refused', () => {
  it('leaves the last good one in force, is audited once, and makes every package stale (K-012)', async () => {
    const good = registry({ anna_7: {} });
    await offer(good);
    await refresh('anna_7', 'one');
    expect(await readActiveVersion(context, { agentKey: 'anna_7' })).toMatchObject({ sourceStale: false });
    const refused = await offer(bad);
    expect(refused).toMatchObject({ changed: false, registry: { checksum: sha256(good) } });
    expect(refused.faults.length).toBeGreaterThan(1);
    await offer(bad);
    expect(await readPackage(context, 'anna_7')).toMatchObject({ enabled: true, listed: true });
    expect(await readActiveVersion(context, { agentKey: 'anna_7' })).toMatchObject({
      number: 1,
      sourceStale: true,
    });
    expect((await registryEvents()).slice(1)).toEqual([
      {
        action: 'agent.registry_rejected',
        subject: sha256(bad),
        details: {
          reason: refused.faults[0]!.code,
          findings: refused.faults.map(({ code, relativePath, line }) => ({
            code,
            path: relativePath,
            line,
          })),
          registryChecksum: sha256(bad),
        },
      },
    ]);
  });

  it('leaves the last good one in force across a restart, whoever asks', async () => {
    const good = registry({ anna_8: {} });
    await offer(good);
    await offer(bad);
    await using reopened = await Database.open({ url: database.applicationUrl });
    const restarted = { ...context, database: reopened };
    const inForce = await readRegistryInForce(restarted);
    expect(inForce.registry?.checksum).toBe(sha256(good));
    expect(inForce.registry?.agents.get('anna_8')?.files).toMatchObject([{ relativePath: 'core.md' }]);
    expect(inForce.faults.length).toBeGreaterThan(1);
    expect(await offer(bad, restarted)).toMatchObject({
      changed: false,
      registry: { checksum: sha256(good) },
    });
    expect(await registryEvents()).toHaveLength(2);
  });

  it('is told again once a good one has been in between; the good one itself is no news', async () => {
    const good = registry({ anna_9: {} });
    for (const bytes of [good, bad, good, bad, good]) await offer(bytes);
    expect((await registryEvents()).map((event) => event.action.split('_')[1])).toEqual([
      'changed',
      'rejected',
      'rejected',
    ]);
    expect((await readRegistryInForce(context)).faults).toEqual([]);
  });

  it('may be a file that is not there, which is not an empty registry', async () => {
    await offer(registry({ anna_10: {} }));
    expect(await offer(null)).toMatchObject({ changed: false, faults: [{ code: 'registry_missing' }] });
    expect(await readPackage(context, 'anna_10')).toMatchObject({ listed: true });
    expect((await registryEvents()).at(-1)).toMatchObject({ subject: 'missing' });
  });
});

describe('registries offered by several at once', () => {
  it('are put in force one after the other, whatever looks go on meanwhile', async () => {
    const agents = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`agent_${index}`, {}]));
    await offer(registry(agents));
    const offers = Array.from({ length: 8 }, (_, index) =>
      offer(index % 3 === 2 ? Buffer.from(`{${index}`) : registry(agents, `2.${index}`)),
    );
    const refreshes = Object.keys(agents).map((agentKey) => refresh(agentKey, 'text'));
    await Promise.all([...offers, ...refreshes]);
    const events = await registryEvents();
    expect(events.filter((event) => event.action === 'agent.registry_changed')).toHaveLength(7);
    expect(events.filter((event) => event.action === 'agent.registry_rejected')).toHaveLength(2);
  });
});

/** Who has written or locked which row last: the same twice means that nobody has. */
async function rowStates(): Promise<unknown[]> {
  return database.asSuperuser(async (client) => {
    const { rows } = await client.query(
      `select 'package', agent_key, environment, xmin, xmax from agent_knowledge.package
       union all select 'status', agent_key, environment, xmin, xmax from agent_knowledge.source_status
       order by 1, 2, 3`,
    );
    return rows;
  });
}

/** One look that finds this text in every file of the agent, by the registry in force. */
async function refresh(agentKey: string, text: string) {
  const { registry: inForce } = await readRegistryInForce(context);
  const definition = inForce!.agents.get(agentKey)!;
  const looker = { id: 'looker', actorId: context.caller.actorId };
  return finishLook(context, {
    definition,
    registryVersion: inForce!.registryVersion,
    registryChecksum: inForce!.checksum,
    sourceType: 'local',
    look: lookOf(definition.files, text),
    open: await openLook(context, looker, { agentKey, environment: 'production' }),
    trigger: 'registry',
    looker,
    extraWarnings: [],
  });
}
