import { mkdir, mkdtemp, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { systemClock } from '../../daemon/clock.ts';
import { Daemon, type DaemonOptions } from '../../daemon/daemon.ts';
import { watchFolder } from '../../daemon/watch-folder.ts';
import type { EventAction } from '../../src/core/events.ts';
import { settleTimes } from '../../src/core/settle-window.ts';
import { makeLooker } from '../../src/operations/looker.ts';
import { readAuditLog } from '../../src/operations/read-audit-log.ts';
import { readPackage } from '../../src/operations/read-knowledge.ts';
import { openLocalSource } from '../../src/source/local-source.ts';
import { registryFileAt, statPrint } from '../../src/source/registry-file.ts';
import { JobQueue } from '../../src/store/job-queue.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';

/** Which files each agent lists, all required, named from the root. */
export type Agents = Readonly<Record<string, readonly string[]>>;

/** A knowledge folder with a registry beside it, a database, and the daemons of this process that keep them in step. */
export class WatchedRoot implements AsyncDisposable {
  readonly folder: string;
  readonly root: string;
  readonly database: TestDatabase;
  /** What the daemons wrote to the log as errors, and to the terminal. */
  readonly errors: string[] = [];
  readonly lines: string[] = [];
  readonly log: string[] = [];
  readonly #stack: AsyncDisposableStack;

  private constructor(folder: string, database: TestDatabase, stack: AsyncDisposableStack) {
    this.folder = folder;
    this.root = join(folder, 'knowledge');
    this.database = database;
    this.#stack = stack;
  }

  static async open(agents: Agents): Promise<WatchedRoot> {
    await using stack = new AsyncDisposableStack();
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'ak-root-')));
    stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
    const database = stack.use(await createTestDatabase());
    const made = new WatchedRoot(folder, database, stack.move());
    await made.register(agents);
    for (const file of Object.values(agents).flat()) await made.save(file, `# ${file}\n`);
    return made;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }

  async register(agents: Agents): Promise<void> {
    const entries = Object.entries(agents).map(([agent, files]) => [
      agent,
      {
        enabled: true,
        agent_code: agent,
        stage: 's',
        package_version: 'v01',
        files: files.map((path, index) => ({ relative_path: path, load_order: index, required: true })),
      },
    ]);
    const text = JSON.stringify({ registry_version: '1.0', agents: Object.fromEntries(entries) });
    await writeFile(`${this.#registryPath}.new`, text);
    await rename(`${this.#registryPath}.new`, this.#registryPath);
  }

  async save(file: string, content: string | Uint8Array): Promise<void> {
    await mkdir(dirname(join(this.root, file)), { recursive: true });
    await writeFile(join(this.root, file), content);
  }

  /** A daemon that settles fast and whose three nets are wide open, unless `change` says otherwise. */
  async startDaemon(change: Partial<DaemonOptions> = {}): Promise<Daemon> {
    const queue = this.#stack.use(await JobQueue.open(this.database.applicationUrl));
    const context = { ...this.database.context(), queue };
    const root = this.root;
    const source = change.source ?? this.#stack.use(openLocalSource({ root }));
    const looker = await makeLooker(context, { id: crypto.randomUUID(), kind: 'daemon', name: 'daemon' });
    const say =
      (kind: 'error' | 'other') =>
      (text: string): void => {
        this.log.push(text);
        if (kind === 'error') this.errors.push(text);
      };
    const daemon = await Daemon.start({
      context,
      looker,
      identity: { host: 'test', processId: process.pid },
      source,
      logger: { debug: say('other'), info: say('other'), warn: say('other'), error: say('error') },
      clock: systemClock,
      watchEnvironments: ['production'],
      settleTimes: () => settleTimes.fast,
      resyncSeconds: 1,
      registry: registryFileAt(this.#registryPath),
      watched: watchFolder({ root, sweepMs: 200, watchMode: 'auto', statPrint }),
      onLook: () => undefined,
      onAlarm: (text) => this.lines.push(text),
      ...change,
    });
    return this.#stack.use(daemon);
  }

  package(agent: string): ReturnType<typeof readPackage> {
    return readPackage(this.database.context(), agent);
  }

  /** The events of these kinds, oldest first. */
  async events(
    ...actions: EventAction[]
  ): Promise<{ action: string; agentKey: string | null; details: Record<string, unknown> }[]> {
    const pages = [];
    for (const action of actions)
      pages.push(await readAuditLog(this.database.context(), { action, first: 200 }));
    return pages
      .flatMap((page) => page.rows)
      .toSorted((a, b) => a.sequence - b.sequence)
      .map(({ action, agentKey, details }) => ({
        action,
        agentKey,
        details: JSON.parse(details) as Record<string, unknown>,
      }));
  }

  get #registryPath(): string {
    return join(this.folder, 'registry.json');
  }
}
