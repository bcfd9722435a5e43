import { resolve } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import packageJson from '../../package.json' with { type: 'json' };
import { SettingsError, type Settings } from '../../config/settings.ts';
import type { CliDeps } from '../cli/cli.ts';
import type { CallContext } from '../operations/context.ts';
import { surveyFolder, usualSurveyLimits } from '../source/folder-survey.ts';
import { readRegistryFile } from '../source/registry-file.ts';
import { planHere } from './plan-here.ts';
import { newKeyMaterial, newSignInMaterial } from './key-material.ts';
import { operatorName } from './operator-name.ts';
import { policyOf } from './policy.ts';
import { publicUrlOf } from './public-url.ts';
import type { MadeKey } from './setup-database.ts';

/** Where a command line writes, and how much room a line has there. */
export type CliStreams = Pick<
  CliDeps,
  'stdout' | 'stderr' | 'outIsTerminal' | 'isTerminal' | 'terminal' | 'colours' | 'columns'
>;

/**
 * Everything the command line stands on. `readSettings` is called by the commands that need settings, and only then; what
 * only some commands need is loaded by them, since the libraries of the API and of the database take half a second each.
 */
export function makeCliDeps(readSettings: () => Settings, streams: CliStreams): CliDeps {
  return {
    ...streams,
    version: packageJson.version,
    clock: () => new Date(),
    policy: () => policyOf(readSettings()),
    isSettingsError: (error) => error instanceof SettingsError,
    openCall: () => openCall(readSettings()),
    planHere: (name, call) => planHere(readSettings(), name, call),
    refreshHere: async (call, request) =>
      (await import('./refresh-here.ts')).refreshHere(readSettings(), call, request),
    readRegistry: async (path) => {
      const found = path === undefined ? readSettings().registryPath : resolve(path);
      return { path: found, bytes: await readRegistryFile(found) };
    },
    diagnose: async () => (await import('./diagnose-here.ts')).diagnoseHere(readSettings, () => new Date()),
    surveyFolder: async (path) => {
      const { maxFileBytes } = readSettings();
      return surveyFolder(resolve(path), { ...usualSurveyLimits, maxFileBytes });
    },
    newKeyMaterial,
    openReceiver: async () => (await import('./webhook.ts')).openReceiver(readSettings()),
    newNoticeId: () => `msg_${uuidv7()}`,
    newSignInMaterial,
    signIn: async () => signInOf(readSettings()),
    runStart: async () => (await import('./run-start.ts')).runStart(readSettings()),
    runFakeGraph: async (wanted) => (await import('./run-fake-graph.ts')).runFakeGraph(wanted),
    runServe: async () => (await import('./run-serve.ts')).runServe(readSettings()),
    runDaemon: async () => (await import('./run-daemon.ts')).runDaemon(readSettings()),
    runMigrate: () => runMigrate(readSettings()),
  };
}

/** A `start` that runs knows best where it is: its terminal may have other settings than this one. */
async function signInOf(settings: Settings): ReturnType<CliDeps['signIn']> {
  const { findStartUrl } = await import('./start-mark.ts');
  const isOfStart = settings.publicUrl === null && settings.databaseUrl === null;
  const url = (isOfStart ? await findStartUrl(settings.dataDir) : null) ?? publicUrlOf(settings);
  return { isNeeded: settings.auth === 'required', url, userName: operatorName() };
}

async function runMigrate(settings: Settings): Promise<MadeKey | null> {
  const { findDatabase } = await import('./runtime.ts');
  const { setUpDatabase } = await import('./setup-database.ts');
  return setUpDatabase(settings, await findDatabase(settings));
}

/** The database in the name of the person at this machine's command line. */
async function openCall(settings: Settings): Promise<CallContext & AsyncDisposable> {
  const { asOperator, findDatabase, openContext } = await import('./runtime.ts');
  const { applicationUrl } = await findDatabase(settings);
  await using stack = new AsyncDisposableStack();
  const call = await asOperator(stack.use(await openContext(settings, applicationUrl)));
  const opened = stack.move();
  return { ...call, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
