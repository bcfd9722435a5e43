import type { Finding } from '../../core/finding.ts';
import type { Cli, HereRefresh } from '../cli.ts';
import type { RefreshRow } from '../rows.ts';
import { findingJson, findingLines, placeOf } from './findings.ts';
import { refreshJson } from './knowledge-json.ts';
import { titleOf } from './package-line.ts';
import { printable } from './printable.ts';
import type { TextLook } from './text-look.ts';
import { nameOf } from '../version-names.ts';

/** What was refreshed, and how it is to be told. */
export interface ToldRefreshes {
  /** Null: every enabled agent. */
  readonly agentKey: string | null;
  readonly environment: string;
  readonly found: HereRefresh;
  readonly json: boolean;
}

/** Prints how refreshes ended; any end but a loaded or an unchanged package makes the exit code 1. */
export function printRefreshes(cli: Cli, told: ToldRefreshes): void {
  const { refreshes, registryFaults } = told.found;
  if (registryFaults.length > 0 || !refreshes.every(isGood)) cli.exitCode = 1;
  if (told.json) return cli.printJson(refreshesJson(told));
  const { look } = cli;
  if (registryFaults.length > 0) return cli.print(...rejectionLines(look, told));
  if (told.agentKey !== null)
    return cli.print(...refreshes.flatMap((refresh) => refreshLines(look, refresh)));
  if (refreshes.length === 0) return cli.print(`No enabled agent in ${printable(told.environment)}.`);
  cli.print(...refreshes.map((refresh) => `${titleOf(refresh)}: ${outcomeText(look, refresh)}`));
}

/** Whether the package holds now what its source does. */
function isGood({ outcome }: RefreshRow): boolean {
  return outcome === 'LOADED' || outcome === 'UNCHANGED';
}

function refreshesJson({ agentKey, environment, found }: ToldRefreshes) {
  const faults = found.registryFaults.map(findingJson);
  if (agentKey === null) {
    return { environment, refreshes: found.refreshes.map(refreshJson), registryFaults: faults };
  }
  const [refresh] = found.refreshes;
  return refresh ? refreshJson(refresh) : rejectionJson({ agentKey, environment }, found.registryFaults);
}

/** In the shape of a refresh that was asked for, though nothing could be. */
function rejectionJson(
  name: { readonly agentKey: string; readonly environment: string },
  faults: readonly Finding[],
) {
  return {
    ...name,
    id: null,
    state: 'done',
    outcome: 'registry_rejected',
    knowledgeVersion: null,
    matchingVersion: null,
    reason: faults[0]?.code ?? null,
    message: faults[0]?.message ?? null,
    faults: faults.map(findingJson),
    warnings: [],
  };
}

function rejectionLines(look: TextLook, { agentKey, environment, found }: ToldRefreshes): string[] {
  const title = agentKey === null ? printable(environment) : titleOf({ agentKey, environment });
  return [
    `${title}: ${look.paint('bad', 'registry_rejected')} (${found.registryFaults[0]?.code}); there is no registry in force.`,
    ...findingLines({ faults: found.registryFaults, warnings: [] }, look),
  ];
}

function refreshLines(look: TextLook, refresh: RefreshRow): string[] {
  const { state, outcome, reason } = refresh;
  const title = titleOf(refresh);
  if (state !== 'DONE') return [`${title}: ${outcomeText(look, refresh)}`];
  if (refresh.faults.length === 0)
    return [`${title}: ${outcomeText(look, refresh)}`, ...findingLines(refresh, look)];
  // The sentence of a failure stands among its faults.
  const word = look.paint('bad', outcome?.toLowerCase() ?? '');
  return [`${title}: ${word} (${reason}); what was active stays active.`, ...findingLines(refresh, look)];
}

/** How a refresh ended, in one line. */
function outcomeText({ paint }: TextLook, refresh: RefreshRow): string {
  const { state, outcome } = refresh;
  if (state !== 'DONE' || outcome === null) {
    return `${paint('waiting', 'still')} ${state.toLowerCase()}; the request ${refresh.id} stays. Ask again in a moment, or with a longer --wait.`;
  }
  const message = printable(refresh.message ?? '');
  switch (outcome) {
    case 'LOADED':
      return `${paint('good', `loaded ${nameOf(refresh.loadedNumber)}`)}. ${message}`;
    case 'UNCHANGED':
      return `unchanged (${nameOf(refresh.matchingNumber)}). ${message}`;
    case 'SUPERSEDED':
      return `${paint('waiting', 'superseded')}. ${message}`;
    case 'FAILED':
    case 'VALIDATION_FAILED':
    case 'REGISTRY_REJECTED':
      return `${paint('bad', outcome.toLowerCase())} (${failurePlace(refresh)}). ${message}`;
    default:
      return outcome satisfies never;
  }
}

function failurePlace({ reason, faults: [first] }: RefreshRow): string {
  const place = first === undefined ? '' : placeOf(first);
  return printable(place === '' ? (reason ?? '') : `${reason}: ${place}`);
}
