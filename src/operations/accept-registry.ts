import { sha256 } from '../core/checksum.ts';
import { findingFacts } from '../core/events.ts';
import type { Finding } from '../core/finding.ts';
import type { Registry } from '../core/package.ts';
import { parseRegistry } from '../core/registry/registry.ts';
import { listLiveDaemons, type LiveDaemon } from '../store/daemons.ts';
import type { Queries } from '../store/database.ts';
import { appendEvent } from '../store/knowledge-events.ts';
import { unlistPackages, upsertPackages } from '../store/packages.ts';
import {
  acceptRegistrySnapshot,
  lockRegistryState,
  readRegistrySnapshot,
  readRegistryState,
  rejectRegistry,
} from '../store/registry-snapshots.ts';
import { forgetUnlistedLooks, markWatched } from '../store/source-status.ts';
import type { Context } from './context.ts';
import type { Looker } from './refresh-knowledge.ts';

/** The registry in force, and what is wrong with the one last offered. */
export interface RegistryInForce {
  /** Null until the first valid registry has been seen. */
  readonly registry: Registry | null;
  /** Empty when the offered registry is the one in force. */
  readonly faults: readonly Finding[];
  /** Whether this call changed which registry is in force. */
  readonly changed: boolean;
  /** The live daemons whose own file holds another registry than the one offered; while there are any, nothing changes. */
  readonly disputedBy: readonly LiveDaemon[];
}

/**
 * Puts an offered registry in force if it passes every rule, with a package for each agent and environment; else the
 * last good one stays, also across a restart, and the refusal is noted and audited once (K-012). `bytes` null: the file
 * is not there, which is not an empty registry. While another live daemon's file holds something else, neither a registry
 * nor a refusal takes effect: two daemons with different registries would switch back and forth for ever.
 */
export async function acceptRegistry(
  context: Context,
  offer: {
    readonly bytes: Uint8Array | null;
    readonly looker: Looker;
    readonly watchEnvironments: readonly string[];
  },
): Promise<RegistryInForce> {
  const parsed = parseRegistry(offer.bytes);
  const offered = offeredChecksum(offer.bytes);
  const { actorId } = offer.looker;
  return context.database.transaction(async (queries) => {
    const state = await lockRegistryState(queries);
    const disputedBy = await listDissenters(queries, offered, offer.looker);
    if (disputedBy.length > 0) {
      await markWatched(queries, offer.watchEnvironments);
      return { registry: await registryOf(queries, state.checksum), faults: [], changed: false, disputedBy };
    }
    if (!parsed.ok) {
      await markWatched(queries, offer.watchEnvironments);
      if (state.rejectedChecksum !== offered) {
        await rejectRegistry(queries, offered, parsed.faults);
        await auditRejection(queries, actorId, offered, parsed.faults);
      }
      const registry = await registryOf(queries, state.checksum);
      return { registry, faults: parsed.faults, changed: false, disputedBy };
    }
    const { registry } = parsed;
    const changed = state.checksum !== registry.checksum;
    if (changed || state.rejectedChecksum !== null) {
      await acceptRegistrySnapshot(queries, {
        ...registry,
        content: offer.bytes ?? new Uint8Array(),
        actorId,
      });
    }
    await listPackagesOf(queries, registry, context.policy.environments);
    await markWatched(queries, offer.watchEnvironments);
    await forgetUnlistedLooks(queries);
    if (changed) await auditChange(queries, actorId, registry, state.checksum);
    return { registry, faults: [], changed, disputedBy };
  });
}

/** The registry in force as the database has it, for whoever has no file. */
export async function readRegistryInForce(context: Context): Promise<RegistryInForce> {
  return context.database.read(async (queries) => {
    const state = await readRegistryState(queries);
    const registry = await registryOf(queries, state.checksum);
    return { registry, faults: state.faults, changed: false, disputedBy: [] };
  });
}

/** How an offered registry is named: by the SHA-256 of its bytes, or as missing. */
export function offeredChecksum(bytes: Uint8Array | null): string {
  return bytes === null ? 'missing' : sha256(bytes);
}

/** Audits that a registry other than the one in force was offered and disputed; for whoever offered it, once. */
export async function auditDispute(context: Context, looker: Looker, offered: string): Promise<void> {
  const message = 'Another live daemon reads another registry; none of them takes effect.';
  const fault: Finding = { code: 'registry_disputed', relativePath: null, line: null, message };
  await context.database.transaction(async (queries) => {
    const state = await readRegistryState(queries);
    if (state.checksum !== offered) await auditRejection(queries, looker.actorId, offered, [fault]);
  });
}

async function listDissenters(queries: Queries, offered: string, looker: Looker): Promise<LiveDaemon[]> {
  const others = (await listLiveDaemons(queries)).filter((daemon) => daemon.id !== looker.id);
  return others.filter(({ condition: { registryOffered } }) =>
    registryOffered === null ? false : registryOffered !== offered,
  );
}

async function registryOf(queries: Queries, checksum: Registry['checksum'] | null): Promise<Registry | null> {
  if (checksum === null) return null;
  const parsed = parseRegistry(await readRegistrySnapshot(queries, checksum));
  // Rules that have become stricter since must not take a good registry out of force in silence.
  if (!parsed.ok)
    throw new Error(`The registry in force, ${checksum}, no longer passes: ${parsed.faults[0]?.message}`);
  return parsed.registry;
}

async function listPackagesOf(
  queries: Queries,
  registry: Registry,
  environments: readonly string[],
): Promise<void> {
  const agents = [...registry.agents.values()];
  const packages = agents.flatMap((agent) =>
    environments.map((environment) => ({ ...agent, environment, registryVersion: registry.registryVersion })),
  );
  await upsertPackages(queries, packages);
  await unlistPackages(queries, [...registry.agents.keys()]);
}

async function auditRejection(
  queries: Queries,
  actorId: number,
  offered: string,
  faults: readonly Finding[],
): Promise<void> {
  await appendEvent(queries, {
    actorId,
    action: 'agent.registry_rejected',
    subject: offered,
    details: { reason: faults[0]?.code ?? null, findings: findingFacts(faults), registryChecksum: offered },
  });
}

async function auditChange(
  queries: Queries,
  actorId: number,
  registry: Registry,
  previous: string | null,
): Promise<void> {
  await appendEvent(queries, {
    actorId,
    action: 'agent.registry_changed',
    subject: registry.checksum,
    details: {
      registryVersion: registry.registryVersion,
      registryChecksum: registry.checksum,
      previous,
      agents: [...registry.agents.keys()],
    },
  });
}
