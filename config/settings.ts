import { join, resolve } from 'node:path';
import { z } from 'zod';
import {
  findGraphContradictions,
  graphShape,
  idleWith,
  toGraphSettings,
  type GraphSettings,
} from './graph-settings.ts';
import {
  isLoopback,
  isNear,
  isPostgresUrl,
  isWebUrl,
  list,
  perEnvironment,
  spread,
  webhookSecret,
  whole,
} from './setting-kinds.ts';

/** How long a package must be quiet before it is captured. */
export type SettleMode = 'fast' | 'settled';
export type ActivateMode = 'auto' | 'manual';

/** Where signed notices go. */
export interface Webhook {
  /** A secret but for its host: path, query and credentials often let in whoever knows them. */
  readonly url: string;
  /** The bytes that notices are signed with. */
  readonly secret: Uint8Array;
}

/** Everything that can be set from outside, checked and with its defaults; frozen. */
export interface Settings {
  /** Where knowledge comes from: a folder, or a drive in Microsoft 365 (K-005). */
  readonly source: 'local' | 'graph';
  readonly registryPath: string;
  readonly environments: readonly string[];
  readonly defaultEnvironment: string;
  readonly watchEnvironments: readonly string[];
  readonly maxFileBytes: number;
  readonly localPath: string;
  readonly watchMode: 'auto' | 'native' | 'sweep';
  readonly settle: Readonly<Record<string, SettleMode>>;
  readonly activate: Readonly<Record<string, ActivateMode>>;
  readonly sweepMs: number;
  readonly resyncSeconds: number;
  readonly maxVersionsPerHour: number;
  readonly shrinkHold: boolean;
  readonly holdOnRollback: boolean;
  readonly secondPersonEnvironments: readonly string[];
  readonly databaseUrl: string | null;
  readonly databaseAdminUrl: string | null;
  readonly migrate: 'auto' | 'never';
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  readonly publicUrl: string | null;
  readonly auth: 'required' | 'off';
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
  /** Where signed notices go; null: nobody is told. */
  readonly webhook: Webhook | null;
  /** Of meaning while `source` is `graph` only (K-098). */
  readonly graph: GraphSettings;
  /** Variables that are set and do nothing: misspelt, of a later version, or of the other source. */
  readonly idle: readonly string[];
}

/** Every fault of the settings at once: which variable, what was found, what is accepted. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(
      `The settings have ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n${faults.map((f) => `  ${f}`).join('\n')}`,
    );
    this.faults = faults;
  }
}

const prefix = 'AGENT_KNOWLEDGE_';

/** Variables whose value is never shown. */
const secretNames = new Set([
  'DATABASE_URL',
  'DATABASE_ADMIN_URL',
  'GRAPH_TOKEN',
  'WEBHOOK_SECRET',
  'WEBHOOK_URL',
  'GRAPH_SHARING_LINK',
]);

/** Known to the interface, without effect in this version. */
const laterNames = new Set('DAEMON_PORT OIDC_ISSUER OIDC_AUDIENCE RATE_LIMIT CHECKPOINT_PATH'.split(' '));

const environmentName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,30}$/, 'names like dev, staging or eu-production');
const names = list(environmentName);
const flag = z.enum(['true', 'false'], 'true or false').transform((value) => value === 'true');
const postgresUrl = z
  .string()
  .refine(isPostgresUrl, 'an address like postgres://user:password@host:5432/database');

const shape = {
  SOURCE: z.enum(['local', 'graph'], 'local or graph').default('local'),
  REGISTRY_PATH: z.string().min(1, 'the path of a file').default('config/agent_knowledge_registry.json'),
  ENVIRONMENTS: names.default(['dev', 'staging', 'production']),
  DEFAULT_ENV: environmentName.default('production'),
  WATCH_ENVIRONMENTS: names.optional(),
  MAX_FILE_SIZE: whole(1, 16_777_216, 'bytes').default(1_048_576),
  LOCAL_PATH: z.string().min(1, 'the path of a folder').optional(),
  WATCH_MODE: z.enum(['auto', 'native', 'sweep'], 'auto, native or sweep').default('auto'),
  SETTLE: perEnvironment(['fast', 'settled']).optional(),
  ACTIVATE: perEnvironment(['auto', 'manual']).optional(),
  SWEEP_MS: whole(50, 600_000, 'milliseconds').default(1000),
  RESYNC_SECONDS: whole(1, 86_400, 'seconds').default(30),
  MAX_VERSIONS_PER_HOUR: whole(0, 100_000, 'versions; 0 switches the limit off').default(0),
  SHRINK_HOLD: flag.default(true),
  HOLD_ON_ROLLBACK: flag.default(false),
  SECOND_PERSON: names.default([]),
  DATABASE_URL: postgresUrl.optional(),
  DATABASE_ADMIN_URL: postgresUrl.optional(),
  MIGRATE: z.enum(['auto', 'never'], 'auto or never').default('auto'),
  DATA_DIR: z.string().min(1, 'the path of a folder').default('.data'),
  HOST: z.string().min(1, 'a host name or address').default('127.0.0.1'),
  PORT: whole(0, 65_535, 'a port; 0 picks a free one').default(4000),
  PUBLIC_URL: z.string().refine(isWebUrl, 'an address like https://knowledge.example.org').optional(),
  AUTH: z.enum(['required', 'off'], 'required or off').default('required'),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error'], 'debug, info, warn or error').default('info'),
  WEBHOOK_URL: z.string().refine(isWebUrl, 'an address like https://hooks.example.org/knowledge').optional(),
  WEBHOOK_SECRET: webhookSecret().optional(),
  ...graphShape,
};

/**
 * The settings that an environment gives. Relative paths are taken from the project's root. An empty variable counts as
 * unset.
 *
 * Throws `SettingsError` with every fault at once, never with the value of a secret (K-093…K-097).
 */
export function loadSettings(
  environment: Readonly<Record<string, string | undefined>>,
  projectRoot: string,
): Settings {
  const given = Object.fromEntries(
    Object.entries(environment)
      .filter(([name, value]) => name.startsWith(prefix) && value !== undefined && value !== '')
      .map(([name, value]) => [name.slice(prefix.length), value]),
  );
  const { values, faults } = parseValues(given);
  const dataDir = resolve(projectRoot, values.DATA_DIR);
  const settings: Settings = {
    source: values.SOURCE,
    registryPath: resolve(projectRoot, values.REGISTRY_PATH),
    environments: values.ENVIRONMENTS,
    defaultEnvironment: values.DEFAULT_ENV,
    watchEnvironments: values.WATCH_ENVIRONMENTS ?? [values.DEFAULT_ENV],
    maxFileBytes: values.MAX_FILE_SIZE,
    localPath:
      values.LOCAL_PATH === undefined ? join(dataDir, 'knowledge') : resolve(projectRoot, values.LOCAL_PATH),
    watchMode: values.WATCH_MODE,
    settle: spread(values.SETTLE ?? {}, values.ENVIRONMENTS, { dev: 'fast' }, 'settled'),
    activate: spread(values.ACTIVATE ?? {}, values.ENVIRONMENTS, {}, 'auto'),
    sweepMs: values.SWEEP_MS,
    resyncSeconds: values.RESYNC_SECONDS,
    maxVersionsPerHour: values.MAX_VERSIONS_PER_HOUR,
    shrinkHold: values.SHRINK_HOLD,
    holdOnRollback: values.HOLD_ON_ROLLBACK,
    secondPersonEnvironments: values.SECOND_PERSON,
    databaseUrl: values.DATABASE_URL ?? null,
    databaseAdminUrl: values.DATABASE_ADMIN_URL ?? null,
    migrate: values.MIGRATE,
    dataDir,
    host: values.HOST,
    port: values.PORT,
    publicUrl: values.PUBLIC_URL ?? null,
    auth: values.AUTH,
    logLevel: values.LOG_LEVEL,
    webhook:
      values.WEBHOOK_URL === undefined || values.WEBHOOK_SECRET === undefined
        ? null
        : { url: values.WEBHOOK_URL, secret: values.WEBHOOK_SECRET },
    graph: toGraphSettings(values),
    idle: Object.keys(given).flatMap((name) => {
      const why = whyIdle(name, values.SOURCE);
      return why === null ? [] : [`${prefix}${name} (${why})`];
    }),
  };
  faults.push(...findContradictions(settings, given), ...findGraphContradictions(given, prefix));
  if (faults.length > 0) throw new SettingsError(faults);
  return Object.freeze(settings);
}

/** Every variable's value; a faulty one counts as unset, so that the faults between the others are found as well. */
function parseValues(given: Readonly<Record<string, string | undefined>>) {
  const parsed = z.object(shape).safeParse(given);
  if (parsed.success) return { values: parsed.data, faults: [] as string[] };
  const faults = parsed.error.issues.map((issue) => toFault(issue, given));
  const faulty = new Set(parsed.error.issues.map((issue) => String(issue.path[0])));
  const sound = Object.fromEntries(Object.entries(given).filter(([name]) => !faulty.has(name)));
  return { values: z.object(shape).parse(sound), faults };
}

/** Why a variable that is set does nothing; null where it does something. */
function whyIdle(name: string, source: Settings['source']): string | null {
  if (laterNames.has(name)) return 'not part of this version yet';
  if (!(name in shape)) return unknown(name);
  return idleWith(source, name) ? `${prefix}SOURCE is ${source}` : null;
}

/** What is said of a name that is none: a near one is mostly what was meant. */
function unknown(name: string): string {
  const [nearest] = [1, 2].flatMap((edits) =>
    Object.keys(shape).filter((known) => edits * 3 <= name.length && isNear(name, known, edits)),
  );
  return nearest === undefined ? 'unknown' : `unknown; did you mean ${prefix}${nearest}?`;
}

/** Faults that no single variable shows. */
function findContradictions(settings: Settings, given: Record<string, string | undefined>): string[] {
  const faults: string[] = [];
  const environments = settings.environments.join(', ');
  const known = (variable: string, used: readonly string[]) => {
    for (const name of used) {
      if (settings.environments.includes(name)) continue;
      faults.push(
        `${prefix}${variable}: found ${quote(name)}; accepted are the environments ${environments}`,
      );
    }
  };
  known('DEFAULT_ENV', [settings.defaultEnvironment]);
  if (given['WATCH_ENVIRONMENTS'] !== undefined) known('WATCH_ENVIRONMENTS', settings.watchEnvironments);
  known('SECOND_PERSON', settings.secondPersonEnvironments);
  if (given['SETTLE']?.includes('=')) known('SETTLE', environmentsOf(given['SETTLE']));
  if (given['ACTIVATE']?.includes('=')) known('ACTIVATE', environmentsOf(given['ACTIVATE']));
  if (settings.auth === 'off' && !isLoopback(settings.host)) {
    faults.push(
      `${prefix}AUTH: off is accepted only while listening on loopback; ${prefix}HOST is ${quote(settings.host)}`,
    );
  }
  if (settings.databaseAdminUrl !== null && settings.databaseUrl === null) {
    faults.push(`${prefix}DATABASE_ADMIN_URL: needs ${prefix}DATABASE_URL beside it`);
  }
  // One that is there and faulty has been told already.
  for (const [name, other] of [
    ['WEBHOOK_URL', 'WEBHOOK_SECRET'],
    ['WEBHOOK_SECRET', 'WEBHOOK_URL'],
  ] as const) {
    if (given[name] !== undefined && given[other] === undefined)
      faults.push(`${prefix}${name}: needs ${prefix}${other} beside it`);
  }
  return faults;
}

function toFault(issue: z.core.$ZodIssue, given: Record<string, string | undefined>): string {
  const name = String(issue.path[0]);
  const value = given[name] ?? '';
  // A password stands in front of the host of an address, whatever the address is for (K-097).
  const isSecret = secretNames.has(name) || /^\s*[a-z]+:\/*[^/]*@/i.test(value);
  const found = isSecret ? 'a value that is not shown' : quote(value);
  return `${prefix}${name}: found ${found}; accepted: ${issue.message}`;
}

function quote(value: string): string {
  return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
}

function environmentsOf(pairs: string): string[] {
  return pairs.split(',').map((pair) => (pair.split('=')[0] ?? '').trim());
}
