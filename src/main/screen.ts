import type { Settings } from '../../config/settings.ts';
import { plainLine } from './plain-log.ts';
import { adminKeyPath } from './setup-database.ts';

/**
 * What `start` shows a person: the banner first, then one line per event with the time. What happens before the banner
 * is shown below it.
 */
export class Screen {
  readonly #settings: Settings;
  #early: string[] | null = [];
  #last = '';

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** One event. The same words twice in a row, told and logged by one part, are one. */
  tell(text: string): void {
    if (text === this.#last) return;
    this.#last = text;
    if (this.#early) this.#early.push(text);
    else console.log(`${new Date().toTimeString().slice(0, 8)}  ${text}`);
  }

  /** A line of a part's log: in a person's words, or as it is where the settings ask for more than usual. */
  log(line: string): void {
    if (this.#settings.logLevel === 'debug') console.error(line);
    else if (plainLine(line) === line) console.error(line);
    else this.tell(plainLine(line));
  }

  showBanner(url: string, madeKey: boolean): void {
    console.log(bannerOf(this.#settings, url, madeKey));
    this.flush();
  }

  /** Shows what waits for the banner, also where there will be none. */
  flush(): void {
    const early = this.#early ?? [];
    this.#early = null;
    this.#last = '';
    for (const text of early) this.tell(text);
  }

  /** The database has a live admin key and this folder does not hold it. */
  showLostKey(): void {
    console.log(
      `\nThe admin key is not in ${adminKeyPath(this.#settings)}. Make another one and put it there:\n  npx agent-knowledge keys create --name admin --scope admin`,
    );
  }
}

function bannerOf(settings: Settings, url: string, madeKey: boolean): string {
  const key = adminKeyPath(settings);
  const query =
    '{ activeVersion(agentKey: "intake_triage") { knowledgeVersion checksum files { relativePath sizeBytes } } }';
  return [
    '',
    'agent-knowledge is running.',
    '',
    `  Knowledge folder   ${settings.localPath}`,
    `  Registry           ${settings.registryPath}`,
    `  GraphQL            ${url}`,
    ...(settings.auth === 'off'
      ? ['  Authentication     off (this machine only)']
      : [`  Admin key          ${key}${madeKey ? ' (made now)' : ''}`]),
    '',
    'Ask for the active version:',
    '',
    `  curl -s ${url} -H 'content-type: application/json'${settings.auth === 'off' ? '' : ` -H "authorization: Bearer $(cat ${shellQuote(key)})"`} -d ${shellQuote(JSON.stringify({ query }))}`,
    '',
    `Edit a file in the knowledge folder and save it: ${whatFollows(settings)}. Ctrl-C stops everything.`,
    '',
  ].join('\n');
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

/** As a shell takes it for one word, whatever it holds. */
function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
