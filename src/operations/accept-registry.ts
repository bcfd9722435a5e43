import { sha256 } from '../core/checksum.ts';
import { findingFacts } from '../core/events.ts';
import type { Finding } from '../core/finding.ts';
import type { Registry } from '../core/package.ts';
import { parseRegistry } from '../core/registry/registry.ts';
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
import { markWatched } from '../store/source-status.ts';
import type { Context } from './context.ts';

/** The registry in force, and what is wrong with the one last offered. */
export interface RegistryInForce {
  /** Null until the first valid registry has been seen. */
  readonly registry: Registry | null;
  /** Empty when the offered registry is the one in force. */
  readonly faults: readonly Finding[];
  /** Whether this call changed which registry is in force. */
  readonly changed: boolean;
}

/**
 * Puts an offered registry in force if it passes every rule, with a package for each agent and environment; else the
 * last good one stays, also across a restart, and the refusal is noted and audited once (K-012). `bytes` null: the file
 * is not there, which is not an empty registry.
 */
export async function acceptRegistry(
  context: Context,
  offer: {
    readonly bytes: Uint8Array | null;
    readonly actorId: number;
    readonly watchEnvironments: readonly string[];
  },
): Promise<RegistryInForce> {
  const parsed = parseRegistry(offer.bytes);
  return context.database.transaction(async (queries) => {
    const state = await lockRegistryState(queries);
    if (!parsed.ok) {
      const offered = offer.bytes === null ? 'missing' : sha256(offer.bytes);
      await markWatched(queries, offer.watchEnvironments);
      if (state.rejectedChecksum !== offered) {
        await rejectRegistry(queries, offered, parsed.faults);
        await auditRejection(queries, offer.actorId, offered, parsed.faults);
      }
      return { registry: await registryOf(queries, state.checksum), faults: parsed.faults, changed: false };
    }
    const { registry } = parsed;
    const changed = state.checksum !== registry.checksum;
    if (changed || state.rejectedChecksum !== null) {
      await acceptRegistrySnapshot(queries, {
        ...registry,
        content: offer.bytes ?? new Uint8Array(),
        actorId: offer.actorId,
      });
    }
    await listPackagesOf(queries, registry, context.policy.environments);
    await markWatched(queries, offer.watchEnvironments);
    if (changed) await auditChange(queries, offer.actorId, registry, state.checksum);
    return { registry, faults: [], changed };
  });
}

/** The registry in force as the database has it, for whoever has no file. */
export async function readRegistryInForce(context: Context): Promise<RegistryInForce> {
  return context.database.read(async (queries) => {
    const state = await readRegistryState(queries);
    return { registry: await registryOf(queries, state.checksum), faults: state.faults, changed: false };
  });
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
