import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { loadSettings } from '../../config/settings.ts';
import { runProgram } from '../../src/cli/program.ts';
import { makeCliDeps } from '../../src/main/cli-deps.ts';
import type { TestDatabase } from '../support/database.ts';
import { agent, document, file, type Json } from '../support/registry-documents.ts';

/** How one command line ended. */
export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A folder with a registry and its knowledge, and a command line that knows both. */
export interface CliPlace extends AsyncDisposable {
  readonly folder: string;
  readonly root: string;
  readonly registryPath: string;
  /** An agent key that no other place of the test file has. */
  readonly agentKey: string;
  /** Writes a file below the root. */
  put(relativePath: string, content: string | Uint8Array): Promise<void>;
  putRegistry(content: string | Uint8Array | Json): Promise<void>;
  run(...arguments_: string[]): Promise<Ended>;
  /** Runs as on a terminal of this width, with its colours. */
  runOn(columns: number, ...arguments_: string[]): Promise<Ended>;
  /** Runs with `--json`; the document must be the whole of stdout. */
  json(...arguments_: string[]): Promise<{ readonly code: number; readonly body: Json }>;
}

export const core = 'Shared/core.md';
export const rules = 'Triage/rules.md';
export const notes = 'Triage/notes.md';

/** One agent with two required files and an optional third. */
export function usualAgent(changes: Json = {}): Json {
  return agent({
    files: [file(core, 1), file(rules, 2), { ...file(notes, 3), required: false }],
    ...changes,
  });
}

let made = 0;

/**
 * A fresh place whose two required files are there. `settings` are added without their prefix; without a database every
 * command that needs one fails.
 */
export async function makeCliPlace(
  database: TestDatabase | null,
  settings: Readonly<Record<string, string>> = {},
): Promise<CliPlace> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'agent-knowledge-cli-')));
  made += 1;
  const place = placeAt(folder, { agentKey: `triage_${made}`, database, settings });
  await place.put(core, '# Core\nBe kind.\n');
  await place.put(rules, '# Rules\nAsk first.\n');
  await place.putRegistry(document({ [place.agentKey]: usualAgent() }));
  return place;
}

function placeAt(
  folder: string,
  options: {
    readonly agentKey: string;
    readonly database: TestDatabase | null;
    readonly settings: Readonly<Record<string, string>>;
  },
): CliPlace {
  const { agentKey } = options;
  const [root, registryPath] = [join(folder, 'root'), join(folder, 'registry.json')];
  const environment = {
    ...(options.settings['SOURCE'] === 'graph' ? {} : { AGENT_KNOWLEDGE_LOCAL_PATH: root }),
    AGENT_KNOWLEDGE_REGISTRY_PATH: registryPath,
    AGENT_KNOWLEDGE_SETTLE: 'fast',
    ...(options.database ? { AGENT_KNOWLEDGE_DATABASE_URL: options.database.applicationUrl } : {}),
    ...Object.fromEntries(
      Object.entries(options.settings).map(([name, value]) => [`AGENT_KNOWLEDGE_${name}`, value]),
    ),
  };
  const run = (...arguments_: string[]) => runHere(arguments_, { environment, folder, columns: null });
  return {
    folder,
    root,
    registryPath,
    agentKey,
    run,
    runOn: (columns, ...arguments_) => runHere(arguments_, { environment, folder, columns }),
    put: async (relativePath, content) => {
      await mkdir(dirname(join(root, relativePath)), { recursive: true });
      await writeFile(join(root, relativePath), content);
    },
    putRegistry: (content) =>
      writeFile(
        registryPath,
        typeof content === 'string' || content instanceof Uint8Array ? content : JSON.stringify(content),
      ),
    json: async (...arguments_) => {
      const { code, out, err } = await run(...arguments_, '--json');
      if (out === '') throw new Error(`Nothing on stdout, but: ${err}`);
      return { code, body: JSON.parse(out) as Json };
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The program as it is, with the settings of a test and its output caught. */
async function runHere(
  arguments_: readonly string[],
  {
    environment,
    folder,
    columns,
  }: {
    readonly environment: Readonly<Record<string, string>>;
    readonly folder: string;
    /** Null: nobody watches. */
    readonly columns: number | null;
  },
): Promise<Ended> {
  const isTerminal = columns !== null;
  let [out, err] = ['', ''];
  const deps = makeCliDeps(() => loadSettings(environment, folder), {
    stdout: (text) => void (out += text),
    stderr: (text) => void (err += text),
    outIsTerminal: isTerminal,
    isTerminal,
    terminal: null,
    colours: { out: isTerminal, err: isTerminal },
    columns: columns ?? 80,
  });
  const code = await runProgram(arguments_, deps);
  return { code, out, err };
}
