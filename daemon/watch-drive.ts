import { dirname } from 'node:path';
import type { RootSight } from '../src/core/root-guard.ts';
import type { Graph } from '../src/source/graph/graph.ts';
import { DriveHints, type DriveTree, type SubscriptionCare } from './hints/drive-hints.ts';
import { LocalHints, type LocalHintsOptions } from './hints/local-hints.ts';
import { SubscriptionKeeper } from './subscription-keeper.ts';
import type { HintListener, SourceHints, WatchedSource } from './watched-source.ts';

export interface WatchDriveOptions extends Pick<
  LocalHintsOptions,
  'sweepMs' | 'watchMode' | 'statPrint' | 'openWatcher' | 'readFileSystemType'
> {
  readonly graph: Graph;
  readonly source: DriveTree & { seeRoot(): Promise<RootSight> };
  /** What a person knows the drive and the folder in it by. */
  readonly name: string;
  readonly pollSeconds: number;
  /** The address by which the service may reach the API; notifications come where it is https. */
  readonly publicUrl: string | null;
  /** What tells this daemon from the others. */
  readonly keeper: string;
}

/** Patience with one observation of a drive's root, its retries included. */
const answerMs = 15_000;

/** A folder of a drive in Microsoft 365 as the daemon watches it. */
export function watchDrive(options: WatchDriveOptions): WatchedSource {
  const { source, pollSeconds } = options;
  return {
    root: { path: options.name, everyMs: pollSeconds * 1000, answerMs, see: () => source.seeRoot() },
    openHints: (listener) => openHints(options, listener),
  };
}

function openHints(options: WatchDriveOptions, listener: HintListener): SourceHints {
  const { graph, source: tree, pollSeconds } = options;
  const wake = () => hints.wake();
  const registry = watchRegistry(options, listener, wake);
  const subscription = keepSubscription(options, listener, wake);
  const hints = new DriveHints({ ...listener, graph, tree, pollSeconds, registry, subscription });
  return hints;
}

/** The registry's file is a local one; whatever else happens in its folder concerns nobody. */
function watchRegistry(options: WatchDriveOptions, listener: HintListener, wake: () => void): LocalHints {
  const { sweepMs, watchMode, statPrint, openWatcher, readFileSystemType } = options;
  return new LocalHints({
    ...listener,
    sweepMs,
    watchMode,
    statPrint,
    ...(openWatcher && { openWatcher }),
    ...(readFileSystemType && { readFileSystemType }),
    root: dirname(listener.registryPath),
    timeOfDay: () => listener.context.clock().getTime(),
    onFiles: () => undefined,
    // A timer that was late means a machine that slept: the drive is asked, too.
    onEverything: () => {
      void listener.onRegistry();
      wake();
    },
    onCondition: () => undefined,
  });
}

/** Nobody can call back an address that is not https (W1). */
function keepSubscription(
  options: WatchDriveOptions,
  { context, clock, logger }: HintListener,
  onCreated: () => void,
): SubscriptionCare | null {
  const { graph, source: tree, keeper, publicUrl } = options;
  if (publicUrl === null || !publicUrl.startsWith('https:')) return null;
  const notificationUrl = `${publicUrl.replace(/\/+$/, '')}/hooks/graph`;
  return new SubscriptionKeeper({ context, clock, logger, graph, tree, keeper, notificationUrl, onCreated });
}
