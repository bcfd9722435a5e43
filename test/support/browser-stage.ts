import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../../src/store/embedded-postgres/free-port.ts';
import { hostileFiles } from './hostile-texts.ts';
import { askGraphql, eventually, runCommand, runToEnd } from './processes.ts';
import { registryOf } from './registry-documents.ts';

/** The product as `npm start` runs it, with the agent `triage`, who has two versions, and `unruly`, of hostile texts. */
export interface BrowserStage extends AsyncDisposable {
  readonly url: string;
  /** The sign-in link of the banner. */
  readonly link: string;
  /** Everything that the product has written so far. */
  written(): { readonly stdout: string; readonly stderr: string };
  activeOf(agentKey: string): Promise<string>;
  /** Activates a version of `triage`, as a program does. */
  activate(version: string): Promise<unknown>;
  /** Runs a command to its end. */
  run(...words: string[]): Promise<{ readonly code: number | null; readonly stdout: string }>;
  /** A link by the command line. */
  login(...options: string[]): Promise<{ readonly url: string; readonly sessionId: string }>;
}

export async function startBrowserStage(): Promise<BrowserStage> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'ak-browser-journey-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const env = await furnish(folder);
  const started = stack.use(runCommand(['start'], { env }));
  stack.defer(async () => void (await started.end()));
  const [link = '', url = ''] = await started.until(/(http:\S+)\/sign-in\?code=[\w-]+/, 90_000);
  const ask = <T>(query: string) =>
    askGraphql<T>({ url: `${url}/graphql`, dataDir: join(folder, 'data') }, query);
  const run = (...words: string[]) => runToEnd(words, { env });
  const activeOf = async (agentKey: string) => {
    const query = `{ package(agentKey: "${agentKey}") { active { knowledgeVersion } } }`;
    const found = await ask<{ package: { active: { knowledgeVersion: string } | null } }>(query);
    return found.package.active?.knowledgeVersion ?? 'none';
  };
  const untilActive = (agentKey: string, version: string) =>
    eventually(
      () => activeOf(agentKey),
      (found) => found === version,
      60_000,
    );
  await untilActive('triage', 'v1');
  await untilActive('unruly', 'v1');
  await writeFile(join(folder, 'knowledge', 'rules.md'), '# Rules\n\nBe kind and brief.\n');
  await untilActive('triage', 'v2');
  const opened = stack.move();
  return {
    url,
    link,
    written: () => ({ stdout: started.stdout(), stderr: started.stderr() }),
    activeOf,
    activate: (version) =>
      ask(`mutation { activate(agentKey: "triage", knowledgeVersion: "${version}") { generation } }`),
    run,
    login: async (...options) => {
      const { stdout } = await run('login', '--json', ...options);
      return JSON.parse(stdout) as { url: string; sessionId: string };
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Files and registry, and the settings that name them. */
async function furnish(folder: string): Promise<Record<string, string>> {
  const root = join(folder, 'knowledge');
  await mkdir(root);
  const files = { 'rules.md': '# Rules\n\nBe kind.\n', ...hostileFiles };
  for (const [path, text] of Object.entries(files)) await writeFile(join(root, path), text);
  const registry = registryOf({ triage: ['rules.md'], unruly: Object.keys(hostileFiles) });
  await writeFile(join(folder, 'registry.json'), JSON.stringify(registry));
  return {
    AGENT_KNOWLEDGE_DATA_DIR: join(folder, 'data'),
    AGENT_KNOWLEDGE_LOCAL_PATH: root,
    AGENT_KNOWLEDGE_REGISTRY_PATH: join(folder, 'registry.json'),
    AGENT_KNOWLEDGE_SETTLE: 'fast',
    // Not 0, so that the command line knows it too.
    AGENT_KNOWLEDGE_PORT: String(await findFreePort(null)),
  };
}
