import { expect } from 'vitest';
import { bundleChecksum, sha256 } from '../../src/core/checksum.ts';
import type { Failpoint } from '../../src/core/failpoint.ts';
import type { RelativePath } from '../../src/core/package.ts';
import {
  Deployment,
  contentOf,
  onlyWhenAsked,
  type Answer,
  type ApiProcess,
  type DaemonProcess,
} from './deployment.ts';
import type { FailAction } from './plant-failpoint.ts';
import { eventually } from './processes.ts';
import { isRunning } from './watched-processes.ts';
import { readWhole, type WholePackage } from './whole-state.ts';

/** Points in the process that reads the files; the others are in the daemon, and some of them in the API too. */
const ofReader: readonly Failpoint[] = ['middle of a file', 'between files'];

/** The points that an activation passes. */
export const ofActivate: readonly Failpoint[] = [
  'before lock',
  'after lock',
  'after pointer',
  'after event',
  'before commit',
  'after commit',
];

/** The points that asking for a refresh passes. */
export const ofRequest: readonly Failpoint[] = ['before commit', 'after commit'];

/** How long a process is stopped: longer than a daemon is silent before it is taken for dead (15 s). */
const stopMs = 20_000;

export type Action = Extract<FailAction, 'kill' | 'stop' | 'disconnect' | 'throw'>;

/** What is done while which failpoint fails how. */
export type Failure = readonly [what: 'refresh' | 'request' | 'activate', point: Failpoint, action: Action];

/**
 * One daemon and one API in which something fails at a failpoint, again and again. Only requests make the daemon look,
 * so that it is the request's look that fails. After each failure the process is started again, woken, or replaced.
 */
export class Matrix implements AsyncDisposable {
  readonly #deployment: Deployment;
  /** Whether a dead daemon is waited for; else its heartbeat is made old. */
  readonly #realTime: boolean;
  #api: ApiProcess;
  #daemon: DaemonProcess;

  private constructor(deployment: Deployment, realTime: boolean, api: ApiProcess, daemon: DaemonProcess) {
    this.#deployment = deployment;
    this.#realTime = realTime;
    this.#api = api;
    this.#daemon = daemon;
  }

  static async open({ realTime }: { readonly realTime: boolean }): Promise<Matrix> {
    await using stack = new AsyncDisposableStack();
    const deployment = stack.use(await Deployment.open(['alpha'], onlyWhenAsked));
    const [api, daemon] = await Promise.all([deployment.startApi(), deployment.startDaemon()]);
    stack.move();
    return new Matrix(deployment, realTime, api, daemon);
  }

  /** Checks that this failure leaves nothing in between and that what was asked for is done once. */
  async fail([what, point, action]: Failure, control?: { readonly anotherKey: true }): Promise<void> {
    if (what === 'refresh') await this.#refreshAt(point, action);
    else if (what === 'request') await this.#requestAt(point, action);
    else await this.#activateAt(point, action, control?.anotherKey ?? false);
  }

  /** What the server calls retryable is retried unseen, until it happens too often: then it is UNAVAILABLE (F28). */
  async meetRetryableFailures(): Promise<void> {
    const before = await this.#whole();
    const [target, other] = before.active === 1 ? [2, 1] : [1, 2];
    this.#api.failpoints.plant('after pointer', 'throw 40001', 3);
    expect((await this.#api.ask(activate(target))).errors).toBeUndefined();
    this.#api.failpoints.plant('after pointer', 'throw 40001', 4);
    expect((await this.#api.ask(activate(other))).errors?.[0]?.extensions.code).toBe('UNAVAILABLE');
    expect(this.#api.failpoints.isPlanted).toBe(false);
    expect(await this.#whole()).toMatchObject({ active: target, generation: before.generation + 1 });
  }

  /** A refresh in whose look, or after it, the daemon or its reader fails. */
  async #refreshAt(point: Failpoint, action: Action): Promise<void> {
    const text = `${action} at ${point}`;
    const before = await this.#whole();
    await this.#deployment.save('alpha', text);
    this.#daemon.failpoints.plant(point, action);
    const asked = this.#api.ask(refresh(text));
    await this.#daemon.failpoints.gone();
    await this.#recoverDaemon(point, action);
    // Asking again is a hint, and saves the wait for the heartbeat that hints as well.
    if (!this.#realTime) await this.#api.ask(refresh(text, 0));
    const first = await asked;
    const again = await this.#api.ask(refresh(text));
    expect(again.data?.refresh.id, text).toBe(first.data?.refresh.id);
    expect(again.data?.refresh.outcome, text).toBe(first.data?.refresh.outcome);
    // What failed in the reader is read again by the second pass, so that this holds there too.
    this.#expectNewest(first, before);
    this.#expectOneMore(await this.#whole(), before, text);
  }

  /** A refresh that the API takes down, and fails. */
  async #requestAt(point: Failpoint, action: Action): Promise<void> {
    const text = `asked, ${action} at ${point}`;
    const before = await this.#whole();
    await this.#deployment.save('alpha', text);
    const asked = await this.#failApi(point, action, refresh(text));
    const answer = await eventually(
      () => this.#api.ask(refresh(text)),
      ({ data }) => data?.refresh.state === 'DONE',
    );
    this.#expectNewest(answer, before);
    if (asked?.data) expect(asked.data.refresh.id).toBe(answer.data.refresh.id);
    this.#expectOneMore(await this.#whole(), before, text);
  }

  /** An activation in which the API fails; it is asked for again with the same key after another one moved on. */
  async #activateAt(point: Failpoint, action: Action, anotherKey: boolean): Promise<void> {
    const text = `activate, ${action} at ${point}`;
    const before = await this.#whole();
    const [target, other] = before.active === 1 ? [2, 1] : [1, 2];
    await this.#failApi(point, action, activate(target, text));
    const done = point === 'after commit';
    await eventually(
      () => this.#whole(),
      (whole) => whole.generation === before.generation + (done ? 1 : 0),
    );
    if (done) await this.#api.ask(activate(other));
    const answer = await eventually(
      () => this.#api.ask(activate(target, anotherKey ? `${text}, anew` : text)),
      ({ data }) => data !== null && data !== undefined,
    );
    expect(answer.errors, text).toBeUndefined();
    const after = await this.#whole();
    // An effect that was there already is not made twice: the key says so, though the pointer has moved on.
    expect([after.active, after.generation], text).toEqual(
      done ? [other, before.generation + 2] : [target, before.generation + 1],
    );
    expect(after.numbers).toEqual(before.numbers);
  }

  /** What lives at the end refreshes once more and ends as it should. */
  async endInOrder(): Promise<void> {
    await this.#deployment.save('alpha', 'the last word');
    const answer = await this.#api.ask(refresh('the last word'));
    expect(answer.data.refresh).toMatchObject({ state: 'DONE', outcome: 'LOADED' });
    expect(await Promise.all([this.#api.command.end(), this.#daemon.command.end()])).toEqual([0, 0]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#deployment[Symbol.asyncDispose]();
  }

  async #recoverDaemon(point: Failpoint, action: Action): Promise<void> {
    if (ofReader.includes(point)) return; // The daemon lives, and sees to its readers itself.
    if (action !== 'kill' && action !== 'stop') return;
    const failed = this.#daemon;
    if (action === 'kill') {
      await failed.command.ended;
      // Nothing is between: whatever the dead one had begun is gone or done.
      await this.#whole();
      if (!this.#realTime) await this.#deployment.letHeartbeatAge(failed);
      this.#daemon = await this.#deployment.startDaemon();
      return;
    }
    this.#daemon = await this.#deployment.startDaemon();
    await sleep(stopMs);
    const away = await this.#whole();
    failed.command.process.kill('SIGCONT');
    // It finds out that it was away, publishes nothing, and ends in order when asked to.
    await sleep(1000);
    expect(await failed.command.end(), failed.command.stderr()).toBe(0);
    const now = await this.#whole();
    expect(now.numbers.length - away.numbers.length).toBeLessThanOrEqual(1);
  }

  /** Asks while the API is about to fail; answers what it said, if anything. */
  async #failApi(point: Failpoint, action: Action, query: string): Promise<Answer | null> {
    const failing = this.#api;
    failing.failpoints.plant(point, action);
    const asked = failing.ask(query).catch(() => null);
    await failing.failpoints.gone();
    if (action === 'kill') {
      await failing.command.ended;
      this.#api = await this.#deployment.startApi();
    }
    if (action === 'stop') {
      await sleep(stopMs);
      failing.command.process.kill('SIGCONT');
    }
    const answer = await asked;
    if (action !== 'kill') expect(isRunning(failing.command.process.pid ?? 0)).toBe(true);
    return answer;
  }

  async #whole(): Promise<WholePackage> {
    const whole = (await readWhole(this.#deployment.database)).get('alpha');
    if (!whole) throw new Error('The registry lists alpha, and the database has no such package.');
    return whole;
  }

  /** The answer names the one version that was made: its own, or one that another look had made meanwhile. */
  #expectNewest(answer: Answer, before: WholePackage): void {
    expect(answer.errors).toBeUndefined();
    const { state, outcome, matchingVersion, version } = answer.data.refresh;
    expect([state, outcome]).toEqual(['DONE', version === null ? 'UNCHANGED' : 'LOADED']);
    expect(version?.knowledgeVersion ?? matchingVersion).toBe(`v${before.numbers.length + 1}`);
  }

  #expectOneMore(after: WholePackage, before: WholePackage, text: string): void {
    expect(after.numbers.length, text).toBe(before.numbers.length + 1);
    expect(after.checksums.at(-1), text).toBe(bundleOf(text));
    expect([after.active, after.generation], text).toEqual([after.numbers.length, before.generation + 1]);
  }
}

function refresh(key: string, waitSeconds = 60): string {
  return `mutation { refresh(agentKey: "alpha", idempotencyKey: "${key}", waitSeconds: ${waitSeconds}) {
    id state outcome matchingVersion version { knowledgeVersion } } }`;
}

function activate(number: number, key?: string): string {
  const once = key === undefined ? '' : `, idempotencyKey: "${key}"`;
  return `mutation { activate(agentKey: "alpha", knowledgeVersion: "v${number}"${once}) { generation } }`;
}

function bundleOf(text: string): string {
  const files = { 'alpha/a.md': contentOf('alpha', text), 'alpha/b.md': '# B\n\nAlways the same.\n' };
  return bundleChecksum(
    Object.entries(files).map(([path, content]) => ({
      checksum: sha256(content),
      relativePath: path as RelativePath,
    })),
  );
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
