import { messageOf } from '../src/core/errors.ts';
import type { Logger } from '../src/core/logger.ts';
import { reach } from '../src/core/failpoint.ts';
import type { RootState } from '../src/core/daemon-condition.ts';
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
import { findHalfWritten } from '../src/operations/find-half-written.ts';
import { LookAgain, NothingToLookAt } from './look-endings.ts';
import type { LookSteps } from './package-looker.ts';
import type { RegistryKeeper } from './registry-keeper.ts';
import { checkRoot, rootFindings } from './root-check.ts';
import type { RootGate } from './root-guard.ts';
import type { SpaceAlarm } from './space-alarm.ts';

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
  readonly space: SpaceAlarm;
  /** Says when the source's root is well; left out by whoever looks once and has nobody who watches it. */
  readonly root?: RootGate;
}

/** Binds the steps of a look to one package, with the registry as it is in force at each step. */
export function lookStepsOf(
  name: { readonly agentKey: string; readonly environment: string },
  options: LookStepsOptions,
): LookSteps {
  const { context, looker, source, registry, logger, root } = options;
  const definition = () => registry.inForce.registry?.agents.get(name.agentKey);
  return {
    async ready() {
      if (root === undefined || !isPassing(root.state)) return false;
      if ((await root.settled()) === null) throw new NothingToLookAt();
      return true;
    },
    async open() {
      if (root !== undefined && isPassing(root.state)) throw new LookAgain();
      const opened = await openLook(context, looker, name);
      try {
        if (opened.attempts.length > 0) await registry.lookIfChanged();
        await assertLookable(options, opened, definition());
        if (root?.state === 'missing') await refuseIfStillMissing(options, root, opened);
        return opened;
      } catch (error) {
        if (!(error instanceof NothingToLookAt)) await abandonLook(context, opened.attempts);
        throw error;
      }
    },
    async look(withContent) {
      reach('before look');
      const agent = definition();
      const look = await lookAt(options, agent, withContent);
      reach('after look');
      if (root !== undefined && agent !== undefined) await checkRoot(root, agent, look);
      return look;
    },
    async isKnown(look) {
      const agent = definition();
      const seen = agent && seenBundleChecksum(agent, look);
      if (!seen) return false;
      const [known] = await readKnownChecksums(context, name);
      return known !== undefined && (known.active === seen || known.newest === seen);
    },
    async isHalfWritten(look) {
      const found = await findHalfWritten(context, name, look);
      if (found !== null) logger.info('a file looks half written and is read again', { ...name, ...found });
      return found !== null;
    },
    async finish(found) {
      if (root !== undefined && root.state !== 'ok') throw new LookAgain();
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
      if (result.outcome === 'LOADED') options.space.clear();
      options.onLook({ ...name, trigger: found.trigger, result });
      return result.outcome === 'LOADED' ? result.loadedNumber : null;
    },
    async giveUp(attempts) {
      await noteChanging(context, name);
      await abandonLook(context, attempts);
      logger.warn('the files keep changing; nothing was captured', { ...name });
    },
    async abandon(attempts, error) {
      // A full disk is told once, and whoever asked need not wait for it (F29).
      const full = options.space.raise(error);
      if (!full && !(error instanceof NothingToLookAt) && !(error instanceof LookAgain)) {
        logger.error(`a look failed: ${messageOf(error)}`, { ...name });
      }
      await abandonLook(context, attempts, full ? messageOf(error) : null).catch(() => undefined); // The next heartbeat takes them back.
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

/** The root will be well or missing in a moment. */
function isPassing(state: RootState): boolean {
  return state === 'suspect' || state === 'returned';
}

/**
 * While the root is missing nothing is looked at, and nothing is said of the package (F50). Whoever asks is told why, and only
 * after the root has been observed once more: it may have come back since.
 */
async function refuseIfStillMissing(
  { context }: LookStepsOptions,
  root: RootGate,
  { attempts }: OpenLook,
): Promise<never> {
  if (attempts.length === 0) throw new NothingToLookAt();
  await root.look();
  if (root.state !== 'missing') throw new LookAgain();
  await refuseRefresh(context, attempts, { outcome: 'FAILED', ...rootFindings(root.trouble) });
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
