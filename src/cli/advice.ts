import { KnowledgeError } from '../core/errors.ts';
import { versionName } from '../core/package.ts';
import type { CallContext } from '../operations/context.ts';
import { readHistory, readPackages } from '../operations/read-knowledge.ts';
import type { Cli } from './cli.ts';
import { nearest } from './nearest.ts';
import { printable } from './output/printable.ts';
import { newestNumber, nameOf, pendingNumber } from './version-names.ts';
import type { PackageRow } from './rows.ts';

/** A package as a command line named it. */
export interface AskedName {
  readonly agentKey: string;
  /** Left out: the default one. */
  readonly environment: string | undefined;
}

/** How many of its newest versions are named to whoever asked for one that is not there. */
const namedVersions = 5;

/** A command about a package, as it can be pasted. */
export function commandAbout(command: string, { agentKey, environment }: AskedName): string {
  const words = environment === undefined ? [agentKey] : [agentKey, '--env', environment];
  return printable(['npx agent-knowledge', command, ...words].join(' '));
}

/** The same refusal with what is there: the agent whose key is nearest, or the newest versions of this one. */
export async function adviseOnName(
  call: CallContext,
  asked: AskedName,
  error: KnowledgeError,
): Promise<KnowledgeError> {
  const advice = await adviceOn(call, asked);
  return new KnowledgeError(error.code, `${error.message} ${advice}`, {
    details: error.details,
    cause: error,
  });
}

async function adviceOn(call: CallContext, asked: AskedName): Promise<string> {
  const rows = await readPackages(call, asked.environment);
  const row = rows.find(({ agentKey }) => agentKey === asked.agentKey);
  return row === undefined ? adviceOnAgent(asked, rows) : adviceOnVersion(call, asked, row);
}

/** What to say of an agent that the registry does not list, though there may be versions of it. */
export async function adviseOnAgent(call: CallContext, asked: AskedName): Promise<string> {
  const rows = await readPackages(call, asked.environment);
  return adviceOnAgent(
    asked,
    rows.filter(({ agentKey }) => agentKey !== asked.agentKey),
  );
}

function adviceOnAgent(asked: AskedName, rows: readonly PackageRow[]): string {
  const near = nearest(
    asked.agentKey,
    rows.map(({ agentKey }) => agentKey),
  );
  const environment = asked.environment === undefined ? '' : ` --env ${asked.environment}`;
  const list = `"npx agent-knowledge packages${environment}" lists them all.`;
  return near === null ? list : `Did you mean ${near}? ${list}`;
}

async function adviceOnVersion(call: CallContext, asked: AskedName, row: PackageRow): Promise<string> {
  if (newestNumber(row) === null)
    return `It has no version yet: "${commandAbout('refresh', asked)}" makes one.`;
  const { rows } = await readHistory(call, row, { first: namedVersions, after: null });
  const names = rows.map(({ number }) => versionName(number)).join(', ');
  return `The newest ${rows.length === 1 ? 'is' : 'are'} ${names}; "${commandAbout('versions', asked)}" lists them all.`;
}

/** Hints at the command that moves on a package whose newest version is not active. */
export function hintAtNext(cli: Cli, row: PackageRow): void {
  const isDefault = row.environment === cli.deps.policy().defaultEnvironment;
  const name = { agentKey: row.agentKey, environment: isDefault ? undefined : row.environment };
  if (row.hold !== null) cli.hint(`"${commandAbout('release', name)}" ends the hold.`);
  const pending = nameOf(pendingNumber(row));
  const activate = commandAbout('activate', { ...name, agentKey: `${row.agentKey} ${pending}` });
  if (pending !== null) cli.hint(`"${activate}" activates it.`);
}
