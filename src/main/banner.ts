import type { Settings } from '../../config/settings.ts';
import { adminKeyPath, type MadeKey } from './setup-database.ts';
import { shellQuote } from './shell-quote.ts';
import { sourceName } from './source-name.ts';

/** What the banner tells beside the settings. */
export interface BannerFacts {
  /** Where GraphQL is asked. */
  readonly url: string;
  /** A link that signs the person at this terminal in, once; null where nobody signs in. */
  readonly signInUrl: string | null;
  /** The admin key that this start has made, if it did. */
  readonly madeKey: MadeKey | null;
  /** Whether the key in the data folder opens this database. */
  readonly keyWorks: boolean;
  /** An agent whose active version can be asked for; null where the database lists none. */
  readonly agentKey: string | null;
}

/** Where everything is, and one command that works as pasted. */
export function bannerOf(settings: Settings, facts: BannerFacts): string {
  const { url } = facts;
  const authorization =
    settings.auth === 'off' ? '' : ` -H "authorization: Bearer $(cat ${shellQuote(adminKeyPath(settings))})"`;
  const body = shellQuote(JSON.stringify({ query: queryOf(facts.agentKey) }));
  return [
    '',
    'agent-knowledge is running.',
    '',
    `  Knowledge folder   ${sourceName(settings)}`,
    `  Registry           ${settings.registryPath}`,
    `  GraphQL            ${url}`,
    settings.auth === 'off'
      ? '  Authentication     off (this machine only)'
      : `  Admin key          ${keyLine(settings, facts)}`,
    '',
    ...signInLines(facts),
    facts.agentKey === null ? 'Ask for the packages:' : 'Ask for the active version:',
    '',
    `  curl -s ${url} -H 'content-type: application/json'${authorization} -d ${body}`,
    '',
    `Edit a file in the knowledge folder and save it: ${whatFollows(settings)}${whenNoticed(settings)}. Ctrl-C stops everything.`,
    '',
  ].join('\n');
}

function signInLines({ url, signInUrl }: BannerFacts): readonly string[] {
  if (signInUrl === null) return ['Look around in a browser:', '', `  ${url}`, ''];
  return [
    'Look around in a browser (this link works once, within ten minutes; "npx agent-knowledge login" prints another):',
    '',
    `  ${signInUrl}`,
    '',
  ];
}

function keyLine(settings: Settings, { madeKey, keyWorks }: BannerFacts): string {
  const path = adminKeyPath(settings);
  if (!keyWorks) return `none that works in ${path}: see above`;
  if (madeKey === null) return path;
  const { earlierPath } = madeKey;
  return `${path} (made now${earlierPath === null ? '' : `; the earlier one is in ${earlierPath}`})`;
}

function queryOf(agentKey: string | null): string {
  return agentKey === null
    ? '{ packages { agentKey enabled active { knowledgeVersion } } }'
    : `{ activeVersion(agentKey: ${JSON.stringify(agentKey)}) { knowledgeVersion checksum files { relativePath sizeBytes } } }`;
}

/** What a save comes to, by the default environment's settings. */
function whatFollows(settings: Settings): string {
  const environment = settings.defaultEnvironment;
  if (!settings.watchEnvironments.includes(environment)) return `nothing is watched for ${environment}`;
  const when = settings.settle[environment] === 'fast' ? 'at once' : 'two seconds later';
  return settings.activate[environment] === 'manual'
    ? `a new version is stored ${when} and waits for you to activate it`
    : `a new version is active ${when}`;
}

/** A drive does not tell of a save at once. */
function whenNoticed({ source, graph }: Settings): string {
  return source === 'local'
    ? ''
    : `, once the drive has told of it (it is asked every ${graph.pollSeconds} s)`;
}
