/**
 * Makes a process of the product a test build: loaded before it with `--import` (see `deployment.ts`), it lets the
 * product's failpoints fail (`reliability.md` 3.6). Nothing happens until the test arms a point, and each arming goes
 * off in one process, once per time it names. A reader, which has no environment, finds the file in the import's query.
 */
import childProcess, { type ForkOptions } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import type { Socket } from 'node:net';
import { armFailpoints, type Failpoint } from '../../src/core/failpoint.ts';
import type { FailAction, Planted } from './plant-failpoint.ts';

const ofReader = new URL(import.meta.url).searchParams.get('file');
const file = ofReader ?? process.env['AGENT_KNOWLEDGE_FAILPOINT_FILE'] ?? '';
const database = URL.parse(process.env['AGENT_KNOWLEDGE_DATABASE_URL'] ?? '');
const sockets = new Set<Socket>();

const actions: Readonly<Record<FailAction, () => void>> = {
  kill: () => process.kill(process.pid, 'SIGKILL'),
  stop: () => process.kill(process.pid, 'SIGSTOP'),
  disconnect() {
    const port = Number(database?.port);
    for (const socket of sockets) if (socket.remotePort === port) socket.destroy();
  },
  throw() {
    throw new Error('planted at a failpoint');
  },
  'throw 40001'() {
    throw Object.assign(new Error('planted at a failpoint'), { code: '40001' });
  },
  'reject in nobody’s name': () => void Promise.reject(new Error('planted rejection')),
  'throw in nobody’s name': () =>
    void setImmediate(() => {
      throw new Error('planted exception');
    }),
};

armFailpoints((point) => {
  const action = take(point);
  if (action !== null) actions[action]();
});
if (ofReader === null) {
  subscribe('net.client.socket', (message) => keep((message as { socket: Socket }).socket));
  passOnToReaders();
}

/** What is planted at this point, where anything is; the last time it goes off, the file goes. */
function take(point: Failpoint): FailAction | null {
  const planted = read();
  if (planted?.point !== point) return null;
  try {
    if (planted.times > 1) writeFileSync(file, JSON.stringify({ ...planted, times: planted.times - 1 }));
    else rmSync(file);
    return planted.action;
  } catch {
    return null; // Another process of the same build was faster.
  }
}

function read(): Planted | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Planted;
  } catch {
    return null; // Nothing is planted.
  }
}

function keep(socket: Socket): void {
  sockets.add(socket);
  socket.once('close', () => sockets.delete(socket));
}

function passOnToReaders(): void {
  const { fork } = childProcess;
  const preload = new URL(import.meta.url);
  preload.searchParams.set('file', file);
  const withPreload = (path: string | URL, arguments_: readonly string[], options: ForkOptions) =>
    fork(path, arguments_, {
      ...options,
      execArgv: [...(options.execArgv ?? []), '--import', preload.href],
    });
  childProcess.fork = withPreload as typeof fork;
  syncBuiltinESMExports();
}
