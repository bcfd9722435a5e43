import type { Logger } from '../src/core/logger.ts';
import { reach } from '../src/core/failpoint.ts';
import type { Finding } from '../src/core/finding.ts';
import type { PackageLook } from '../src/core/look.ts';
import type { PackageDefinition } from '../src/core/package.ts';
import { disabledFault } from '../src/core/plan-refresh.ts';
import { seenBundleChecksum } from '../src/core/seen-bundle.ts';
import type { Context } from '../src/operations/context.ts';
import { noteChanging, readKnownChecksums } from '../src/operations/looker.ts';
import {
  abandonLook,
  finishLook,
  openLook,
  type Looker,
  type LookTrigger,
  type OpenLook,
} from '../src/operations/refresh-knowledge.ts';
import { refuseRefresh } from '../src/operations/refuse-refresh.ts';
import type { Source } from '../src/source/source.ts';
import type { LookSteps } from './package-looker.ts';
import type { RegistryKeeper } from './registry-keeper.ts';

/** Told of every look that came to something. */
export type LookReporter = (report: {
  readonly agentKey: string;
  readonly environment: string;
  readonly trigger: LookTrigger;
  readonly result: Awaited<ReturnType<typeof finishLook>>;
}) => void;

export interface LookStepsOptions {
  readonly context: Context;
  readonly looker: Looker;
  readonly source: Source;
  readonly logger: Logger;
  readonly registry: RegistryKeeper;
  readonly onLook: LookReporter;
}

/** The registry says that there is nothing to look at; whoever asked has been answered. */
class NothingToLookAt extends Error {}

/** Binds the steps of a look to one package, with the registry as it is in force at each step. */
export function lookStepsOf(
  name: { readonly agentKey: string; readonly environment: string },
  options: LookStepsOptions,
): LookSteps {
  const { context, looker, source, registry, logger } = options;
  const definition = () => registry.inForce.registry?.agents.get(name.agentKey);
  return {
    async open() {
      const opened = await openLook(context, looker, name);
      try {
        if (opened.attempts.length > 0) await registry.lookIfChanged();
        await assertLookable(options, opened, definition());
        return opened;
      } catch (error) {
        if (!(error instanceof NothingToLookAt)) await abandonLook(context, opened.attempts);
        throw error;
      }
    },
    async look(withContent) {
      reach('before look');
      const look = await lookAt(options, definition(), withContent);
      reach('after look');
      return look;
    },
    async isKnown(look) {
      const agent = definition();
      const seen = agent && seenBundleChecksum(agent, look);
      if (!seen) return false;
      const [known] = await readKnownChecksums(context, name);
      return known !== undefined && (known.active === seen || known.newest === seen);
    },
    async finish(found) {
      const { registry: inForce } = registry.inForce;
      const agent = definition();
      if (!inForce || !agent) throw new NothingToLookAt();
      reach('before publish');
      const result = await finishLook(context, {
        ...found,
        definition: agent,
        registryVersion: inForce.registryVersion,
        registryChecksum: inForce.checksum,
        sourceType: source.type,
        looker,
      });
      reach('after publish');
      options.onLook({ ...name, trigger: found.trigger, result });
    },
    async giveUp(attempts) {
      await noteChanging(context, name);
      await abandonLook(context, attempts);
      logger.warn('the files keep changing; nothing was captured', { ...name });
    },
    async abandon(attempts, error) {
      if (!(error instanceof NothingToLookAt)) {
        logger.error(`a look failed: ${error instanceof Error ? error.message : String(error)}`, { ...name });
      }
      await abandonLook(context, attempts).catch(() => undefined); // The next heartbeat takes them back.
    },
  };
}

/**
 * Ends a look before it reads where the registry leaves nothing to read, answering whoever asked (K-012). The sources of a
 * disabled agent are never read (G-11).
 */
async function assertLookable(
  options: LookStepsOptions,
  opened: OpenLook,
  definition: PackageDefinition | undefined,
): Promise<void> {
  const { faults } = options.registry.inForce;
  const [first, ...others] = faults;
  if (first !== undefined && opened.attempts.length > 0) {
    const refusal = { outcome: 'REGISTRY_REJECTED' as const, faults: [first, ...others] as const };
    await refuseRefresh(options.context, opened.attempts, refusal);
    throw new NothingToLookAt();
  }
  if (definition?.enabled) return;
  if (opened.attempts.length > 0) {
    const fault = definition ? disabledFault(definition) : unknownFault(opened.name.agentKey);
    await refuseRefresh(options.context, opened.attempts, { outcome: 'FAILED', faults: [fault] });
  }
  throw new NothingToLookAt();
}

function unknownFault(agentKey: string): Finding {
  const message = `The registry does not list the agent ${agentKey}.`;
  return { code: 'unknown_agent', relativePath: null, line: null, message };
}

async function lookAt(
  options: LookStepsOptions,
  definition: PackageDefinition | undefined,
  withContent: boolean,
): Promise<PackageLook> {
  if (!definition) throw new NothingToLookAt();
  const { maxFileBytes } = options.context.policy;
  return options.source.look(definition.files, { withContent, maxFileBytes });
}
