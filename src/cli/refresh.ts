import type { Command } from 'commander';
import { isDaemonAlive } from '../operations/looker.ts';
import type { CallContext } from '../operations/context.ts';
import { resolveEnvironment } from '../operations/names.ts';
import { readEnabledPackages } from '../operations/read-enabled-packages.ts';
import { readPackageOf } from '../operations/read-knowledge.ts';
import { awaitRefresh, requestRefresh } from '../operations/request-refresh.ts';
import { hintAtNext } from './advice.ts';
import type { Cli, HereRefresh, HereRequest } from './cli.ts';
import {
  addCommand,
  environmentOption,
  jsonOption,
  parseSeconds,
  type EnvironmentOption,
} from './options.ts';
import { noProgress } from './output/progress.ts';
import { printRefreshes } from './output/refreshes.ts';
import type { PackageRow } from './rows.ts';
import { withCall } from './with-call.ts';

interface RefreshOptions extends EnvironmentOption {
  readonly all?: true;
  readonly wait: number;
  readonly acceptShrink?: true;
}

/** Looks after which a refresh that others keep overtaking is told as it is. */
const maxRounds = 3;

/** `refresh`: asks a live daemon, or looks itself where there is none. */
export function addRefresh(program: Command, cli: Cli): void {
  const command = addCommand(program, {
    use: 'refresh [agent]',
    about: 'refresh one agent, or every enabled one; with no live daemon this process looks itself',
    example: ['refresh intake_triage --wait 60', 'refresh --all --env staging --json'],
    exits: ['0 loaded or unchanged', '1 it failed or is still under way', '64 wrong usage'],
  });
  command
    .option('--all', 'every enabled agent, one line each')
    .addOption(environmentOption())
    .option('--wait <seconds>', 'how long to wait for the outcome of others, 0 to 60', parseSeconds, 30)
    .option('--accept-shrink', 'the loss of most of a package is meant: do not hold it')
    .addOption(jsonOption())
    .action(async (agentKey: string | undefined, options: RefreshOptions) => {
      if ((agentKey === undefined) !== (options.all === true)) {
        command.error('error: name one agent, or say --all', { exitCode: 64 });
      }
      await refresh(cli, agentKey ?? null, options);
    });
}

async function refresh(cli: Cli, agentKey: string | null, options: RefreshOptions): Promise<void> {
  const environment = resolveEnvironment(cli.deps.policy(), options.env);
  const acceptShrink = options.acceptShrink ?? false;
  const work = async (call: CallContext) => {
    using progress = cli.progress('Refreshing');
    const request = { agentKey, environment, acceptShrink, waitSeconds: options.wait, progress };
    const found = await refreshUntilTold(cli, call, request);
    return { found, rows: cli.isWatched ? await readRowsOf(call, found) : [] };
  };
  const about = agentKey === null ? {} : { about: { agentKey, environment: options.env } };
  const { found, rows } = await withCall(cli, work, about);
  printRefreshes(cli, { agentKey, environment, found, json: options.json ?? false });
  for (const row of rows) hintAtNext(cli, row);
}

/** How the packages stand that have got a version. */
async function readRowsOf(call: CallContext, { refreshes }: HereRefresh): Promise<PackageRow[]> {
  const loaded = refreshes.filter(({ outcome }) => outcome === 'LOADED');
  return Promise.all(loaded.map((name) => readPackageOf(call, name)));
}

/** A look that another one has overtaken says nothing of the source, so it is made again. */
async function refreshUntilTold(cli: Cli, call: CallContext, request: HereRequest): Promise<HereRefresh> {
  let found = await refreshOnce(cli, call, request);
  for (let round = 1; round < maxRounds; round += 1) {
    const refreshes = [];
    for (const refresh of found.refreshes) {
      if (refresh.outcome !== 'SUPERSEDED') refreshes.push(refresh);
      else
        refreshes.push(
          ...(await refreshOnce(cli, call, { ...request, agentKey: refresh.agentKey, progress: noProgress }))
            .refreshes,
        );
    }
    found = { ...found, refreshes };
  }
  return found;
}

async function refreshOnce(cli: Cli, call: CallContext, request: HereRequest): Promise<HereRefresh> {
  return (await isDaemonAlive(call)) ? askDaemon(call, request) : cli.deps.refreshHere(call, request);
}

/** Everything is asked for before anything is waited for, so that a daemon can look at several packages at once. */
async function askDaemon(call: CallContext, request: HereRequest): Promise<HereRefresh> {
  const { agentKey, environment, acceptShrink, waitSeconds, progress } = request;
  const names =
    agentKey === null ? await readEnabledPackages(call, environment) : [{ agentKey, environment }];
  progress.begin(names.length);
  const asked = [];
  for (const name of names) asked.push(await requestRefresh(call, { ...name, acceptShrink, waitSeconds: 0 }));
  const refreshes = await Promise.all(
    asked.map(async ({ id }) => {
      const refresh = await awaitRefresh(call, id, waitSeconds);
      progress.step(refresh.agentKey);
      return refresh;
    }),
  );
  return { refreshes, registryFaults: [] };
}
