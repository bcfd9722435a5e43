import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadSettings, type Settings } from '../config/settings.ts';
import type { Context } from '../src/operations/context.ts';
import { makeLooker } from '../src/operations/looker.ts';
import type { Looker } from '../src/operations/refresh-knowledge.ts';
import { openContext } from '../src/main/runtime.ts';
import { projectRoot } from '../src/main/environment.ts';
import { setUpDatabase } from '../src/main/setup-database.ts';
import { startEmbeddedPostgres } from '../src/store/embedded-postgres.ts';

/** One measured figure. A claim is a ratio to something measured beside it in the same run; absolute times are this machine's. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** What it was measured against, and how many times that it is. */
  readonly against?: { readonly name: string; readonly value: number; readonly ratio: number };
}

export interface Bench {
  readonly name: string;
  run(): Promise<readonly Figure[]>;
}

/** A product of its own in a scratch folder: database, context, settings; gone at the end. */
export interface Scene extends AsyncDisposable {
  readonly folder: string;
  readonly settings: Settings;
  readonly context: Context;
  readonly looker: Looker;
  readonly adminUrl: string;
  readonly applicationUrl: string;
}

export async function openScene(variables: Readonly<Record<string, string>> = {}): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'ak-bench-'));
  await chmod(folder, 0o755);
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const postgres = await startEmbeddedPostgres({ dataDir: folder });
  stack.defer(() => postgres.stop());
  const settings = loadSettings({ AGENT_KNOWLEDGE_DATA_DIR: folder, ...variables }, projectRoot);
  await setUpDatabase(settings, postgres);
  const context = stack.use(await openContext(settings, postgres.applicationUrl));
  const looker = await makeLooker(context, { id: 'bench', kind: 'daemon', name: 'bench' });
  const { adminUrl, applicationUrl } = postgres;
  const opened = stack.move();
  return {
    folder,
    settings,
    context,
    looker,
    adminUrl,
    applicationUrl,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Milliseconds that a piece of work takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function compared(
  name: string,
  value: number,
  unit: string,
  against: { name: string; value: number },
): Figure {
  return { name, value, unit, against: { ...against, ratio: value / against.value } };
}
