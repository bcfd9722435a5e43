import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RelativePath } from '../../src/core/package.ts';
import type { LookRequest } from '../../src/source/look-steps.ts';
import { ReaderPool, type ReaderPoolLimits } from '../../src/source/reader-pool.ts';
import { countDescriptors, isRunning, openFiles, startScript, until } from '../support/watched-processes.ts';
import { makeFolder, type TemporaryFolder } from '../support/source-folder.ts';

/** Enough bytes that a look at them is under way for a while. */
const bigNames = Array.from({ length: 100 }, (_, at) => `big/${at}.md` as RelativePath);
let folder: TemporaryFolder;

beforeAll(async () => {
  const big = Buffer.alloc(1_048_576, 'x');
  const bigFiles = bigNames.map((name) => [`root/${name}`, big] as const);
  folder = await makeFolder({ 'root/small.md': 'small', ...Object.fromEntries(bigFiles) });
});
afterAll(() => folder[Symbol.asyncDispose]());

function ask(paths: readonly string[]): LookRequest {
  const request = { root: folder.root, withContent: true, maxFileBytes: 1_048_576, hosts: [] };
  return { ...request, paths: paths as readonly RelativePath[] };
}
const small = { root: 'present', files: [{ state: 'present', sizeBytes: 5 }] };

/** A pool with every reader ready. */
async function openWarm(limits: Partial<ReaderPoolLimits> = {}): Promise<ReaderPool> {
  const pool = new ReaderPool(limits);
  await until(() => pool.readers.every((reader) => reader.state === 'idle'));
  return pool;
}

function processIds(pool: ReaderPool): number[] {
  return pool.readers.map((reader) => reader.processId!);
}

/** The one reader that is in the middle of a look; one that was killed may still seem so for a moment. */
async function findBusy(pool: ReaderPool, killed?: number): Promise<number> {
  const busy = (): number[] =>
    pool.readers.flatMap(({ state, processId }) =>
      state === 'busy' && processId !== killed ? processId! : [],
    );
  await until(() => busy().length === 1);
  return busy()[0]!;
}

describe('a pool of readers', () => {
  it('keeps its processes, and answers many looks at once, each with its own', async () => {
    await using pool = await openWarm();
    const before = processIds(pool);
    const looks = Array.from({ length: 150 }, (_, at) =>
      pool.look(ask(at % 2 === 0 ? ['small.md'] : ['none.md'])),
    );
    for (const [at, look] of (await Promise.all(looks)).entries()) {
      expect(look).toMatchObject({ files: [{ state: at % 2 === 0 ? 'present' : 'absent' }] });
    }
    expect(processIds(pool)).toEqual(before);
  });

  it('leaves no descriptor open, and no process after it is closed', async () => {
    const own = countDescriptors(process.pid);
    const pool = await openWarm();
    const ids = processIds(pool);
    await Promise.all(ids.map(() => pool.look(ask(['small.md']))));
    const before = ids.map(countDescriptors);
    await Promise.all(
      Array.from({ length: 150 }, () => pool.look(ask(['small.md', 'none.md', 'big', 'big/0.md']))),
    );
    // The last answer is on its way a moment before its reader has closed the root.
    await until(() => ids.every((id, at) => countDescriptors(id) <= before[at]!));
    await pool[Symbol.asyncDispose]();
    expect(ids.filter(isRunning)).toEqual([]);
    // The pipes of a process that has ended are closed a moment after its end is known.
    await until(() => countDescriptors(process.pid) <= own);
  });

  it('has the user of its parent and nothing of its environment but PATH', async () => {
    process.env['AGENT_KNOWLEDGE_DATABASE_URL'] = 'postgres://u:CANARY@localhost/db';
    await using pool = await openWarm({ readers: 1 });
    delete process.env['AGENT_KNOWLEDGE_DATABASE_URL'];
    const [id] = processIds(pool);
    const names = readFileSync(`/proc/${id}/environ`, 'utf8')
      .split('\0')
      .map((line) => line.replace(/=.*/s, ''));
    const expected = ['NODE_CHANNEL_FD', 'NODE_CHANNEL_SERIALIZATION_MODE', 'PATH'];
    expect(names.filter((name) => name !== '').sort()).toEqual(expected);
    expect(readFileSync(`/proc/${id}/status`, 'utf8')).toContain(`Uid:\t${process.getuid?.()}\t`);
  });

  it('ignores the signals a terminal sends to all, and ends with its parent', async () => {
    await using holder = await startScript('hold-source.ts', [folder.root]);
    const ids = holder.first as number[];
    expect(ids.length).toBe(2);
    for (const id of ids) process.kill(id, 'SIGINT');
    await sleep(100);
    expect(ids.every(isRunning)).toBe(true);
    holder.child.kill('SIGKILL');
    await until(() => !ids.some(isRunning), 5_000);
  });

  it('refuses looks past what may wait, and serves those that do in order', async () => {
    await using pool = await openWarm({ readers: 1, maxWaiting: 2 });
    const order: number[] = [];
    const looks = [0, 1, 2].map((at) => pool.look(ask(['small.md'])).then(() => order.push(at)));
    await expect(pool.look(ask(['small.md']))).rejects.toMatchObject({ name: 'SourceError', next: 'retry' });
    await Promise.all(looks);
    expect(order).toEqual([0, 1, 2]);
  });

  it('gives looks that waited for its start to readers as they come, one at a time', async () => {
    await using pool = new ReaderPool();
    const looks = Array.from({ length: 20 }, (_, at) => pool.look(ask([`big/${at}.md`, 'small.md'])));
    for (const [at, look] of (await Promise.all(looks)).entries()) {
      expect(look).toMatchObject({ files: [{ relativePath: `big/${at}.md` }, { relativePath: 'small.md' }] });
    }
  });

  it('fails what is under way or waits when it is closed, and every look after that', async () => {
    const pool = await openWarm({ readers: 1 });
    const looks = [pool.look(ask(bigNames)), pool.look(ask(['small.md']))];
    const settled = Promise.allSettled(looks);
    await pool[Symbol.asyncDispose]();
    for (const result of await settled)
      expect(result).toMatchObject({ status: 'rejected', reason: { next: 'stop' } });
    await expect(pool.look(ask(['small.md']))).rejects.toMatchObject({ next: 'stop' });
    expect(pool.readers).toEqual([]);
  });

  it('says so where no reader can be started, and does not keep trying', async () => {
    await using pool = new ReaderPool({ startMs: 1 });
    await expect(pool.look(ask(['small.md']))).rejects.toMatchObject({ name: 'SourceError', next: 'wait' });
    await sleep(100);
    expect(pool.readers).toEqual([]);
  });
});

describe('a reader that stands still', () => {
  const stuckMs = 600;

  it('in the middle of a file is killed and replaced, that file refused, other looks served meanwhile', async () => {
    await using pool = await openWarm({ stuckMs });
    const start = performance.now();
    let isAnswered = false;
    const stuck = pool.look(ask(bigNames)).finally(() => (isAnswered = true));
    const busy = await findBusy(pool);
    await until(() => openFiles(busy).some((path) => path.includes('/big/')));
    process.kill(busy, 'SIGSTOP');
    expect(await pool.look(ask(['small.md']))).toMatchObject(small);
    expect(isAnswered).toBe(false);
    const look = await stuck;
    expect(performance.now() - start).toBeLessThan(stuckMs + 2_000);
    const files = look.root === 'present' ? look.files : [];
    expect(files.map((file) => file.relativePath)).toEqual(bigNames);
    const refused = files.filter((file) => file.state === 'refused');
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]).toMatchObject({
      code: 'unreadable',
      message: expect.stringContaining(`${stuckMs} ms`),
    });
    expect(files.filter((file) => file.state === 'absent')).toEqual([]);
    await until(() => !isRunning(busy) && pool.readers.length === 2);
    expect(processIds(pool)).not.toContain(busy);
    expect(await pool.look(ask(['small.md']))).toMatchObject(small);
  });

  it('keeps no other look waiting while a spare is there, and every one where none is: the control (R15)', async () => {
    for (const [readers, first] of [
      [2, 'others'],
      [1, 'stuck'],
    ] as const) {
      await using pool = await openWarm({ stuckMs, readers });
      const order: string[] = [];
      // Stopped before or after its root has answered: what comes of its own look does not matter here.
      const stuck = pool.look(ask(bigNames)).then(
        () => order.push('stuck'),
        () => order.push('stuck'),
      );
      process.kill(await findBusy(pool), 'SIGSTOP');
      const others = Promise.all(Array.from({ length: 19 }, () => pool.look(ask(['small.md']))));
      await Promise.all([stuck, others.then(() => order.push('others'))]);
      expect(order[0]).toBe(first);
    }
  });

  it('before the root has answered is trouble with the source and no fault of a file', async () => {
    await using pool = await openWarm({ stuckMs, readers: 1 });
    process.kill(processIds(pool)[0]!, 'SIGSTOP');
    await expect(pool.look(ask(['small.md']))).rejects.toMatchObject({ name: 'SourceError', next: 'wait' });
    expect(await pool.look(ask(['small.md']))).toMatchObject(small);
  });

  it('is told from a parent that was busy itself', async () => {
    await using pool = await openWarm({ stuckMs: 100, readers: 1 });
    const [id] = processIds(pool);
    const look = pool.look(ask(bigNames.slice(0, 20)));
    const until = performance.now() + 400;
    while (performance.now() < until);
    expect(await look).toMatchObject({ root: 'present', notices: [] });
    expect(processIds(pool)).toEqual([id]);
  });

  it('is killed when a whole look takes too long, though each file is quick', async () => {
    await using pool = await openWarm({ lookMs: 10, readers: 1 });
    const [id] = processIds(pool);
    await expect(pool.look(ask(bigNames))).rejects.toMatchObject({ name: 'SourceError', next: 'retry' });
    await until(() => !isRunning(id!) && pool.readers.length === 1);
  });
});

describe('a reader that dies', () => {
  it('in the middle of a look leaves the look to another one', async () => {
    await using pool = await openWarm();
    const look = pool.look(ask(bigNames));
    process.kill(await findBusy(pool), 'SIGKILL');
    const answer = await look;
    expect(answer.root === 'present' && answer.files.every((file) => file.state === 'present')).toBe(true);
    await until(() => pool.readers.length === 2);
  });

  it('twice in one look makes the caller try again later', async () => {
    await using pool = await openWarm();
    const look = pool.look(ask(bigNames)).catch((error: unknown) => error);
    const first = await findBusy(pool);
    process.kill(first, 'SIGKILL');
    process.kill(await findBusy(pool, first), 'SIGKILL');
    expect(await look).toMatchObject({ name: 'SourceError', next: 'retry' });
  });

  it('while it is idle is replaced', async () => {
    await using pool = await openWarm({ readers: 1 });
    const [id] = processIds(pool);
    process.kill(id!, 'SIGKILL');
    await until(() => pool.readers.length === 1 && processIds(pool)[0] !== id);
    expect(await pool.look(ask(['small.md']))).toMatchObject(small);
  });
});

it('a look at the folder of the process itself is a look like any other', async () => {
  await using pool = await openWarm({ readers: 1 });
  const look = await pool.look({ ...ask(['package.json']), root: join(import.meta.dirname, '../..') });
  expect(look).toMatchObject({ root: 'present', files: [{ state: 'present' }] });
});
