import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { activateVersion } from '../src/operations/activate-version.ts';
import { asOperator } from '../src/main/runtime.ts';
import { monotonicMs } from '../test/support/history/line-file.ts';
import { packageChanged } from '../test/support/event-stream.ts';
import { runCommand, untilSaid } from '../test/support/processes.ts';
import { startScript } from '../test/support/watched-processes.ts';
import { compared, median, openScene, quantile, type Bench, type Figure, type Scene } from './harness.ts';
import { agentName, lookAtRevision, refreshWith, registerAgents } from './packages.ts';
import type { FromClient, ToClient } from './subscribers/client.ts';

const counts = [1, 100, 1000];
const rounds = 15;
const agentKey = agentName(0);
let active = 2;

/** A server in a process of its own, and how to make it tell everybody something. */
interface Publisher extends AsyncDisposable {
  readonly pid: number;
  readonly port: number;
  readonly request: string;
  readonly publish: () => Promise<void>;
}

/**
 * One publication, from the moment it is asked for until the first, the median and the last subscriber have it, against a
 * plain server that writes one chunk to as many open answers; and what the open streams take of the API's memory.
 */
export const subscribers: Bench = {
  name: 'subscribers',
  async run(): Promise<readonly Figure[]> {
    await using scene = await openScene();
    await loadTwoVersions(scene);
    const figures: Figure[] = [];
    for (const count of counts) {
      await using plain = await startPlain();
      const floor = await measure(plain, count);
      await using api = await startApi(scene);
      const ours = await measure(api, count);
      for (const which of ['first', 'median', 'last'] as const) {
        const against = { name: 'a plain server', value: floor[which] };
        figures.push(
          compared(`activate until the ${which} of ${count} has it, p50`, ours[which], 'ms', against),
        );
      }
      figures.push({ name: `activate until the last of ${count} has it, max`, value: ours.max, unit: 'ms' });
      if (count === counts.at(-1)) figures.push(...memoryFigures(ours, floor, count));
    }
    return figures;
  },
};

function memoryFigures(ours: Measured, floor: Measured, count: number): Figure[] {
  const perStream = ({ before, open }: Measured) => ((open - before) * 1024) / count;
  return [
    { name: 'memory of the API, nobody follows', value: ours.before, unit: 'MiB' },
    { name: `memory of the API, ${count} follow`, value: ours.open, unit: 'MiB' },
    compared('memory for each stream', perStream(ours), 'KiB', {
      name: 'a plain server',
      value: perStream(floor),
    }),
  ];
}

interface Measured {
  readonly first: number;
  readonly median: number;
  readonly last: number;
  readonly max: number;
  /** Resident MiB without and with everybody. */
  readonly before: number;
  readonly open: number;
}

async function measure(publisher: Publisher, count: number): Promise<Measured> {
  const before = await residentMib(publisher.pid);
  await using client = await startScript('../../bench/subscribers/client.ts', []);
  const { child } = client;
  await ask(child, { type: 'open', port: publisher.port, count, request: publisher.request }, 'opened');
  await sleep(1000);
  const open = await residentMib(publisher.pid);
  const all: { first: number; median: number; last: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await ask(child, { type: 'look' }, 'looking');
    const had = next(child, 'had');
    const began = monotonicMs();
    await publisher.publish();
    const { times } = (await had) as Extract<FromClient, { type: 'had' }>;
    const late = times.map((at) => at - began);
    all.push({ first: Math.min(...late), median: median(late), last: quantile(late, 1) });
    await sleep(50);
  }
  const of = (which: 'first' | 'median' | 'last') => all.map((one) => one[which]);
  return {
    first: median(of('first')),
    median: median(of('median')),
    last: median(of('last')),
    max: Math.max(...of('last')),
    before,
    open,
  };
}

/** Two versions, the second one active, so that each publication is a move of the pointer to the other. */
async function loadTwoVersions(scene: Scene): Promise<void> {
  const registry = await registerAgents(scene, 1);
  for (const revision of [0, 1]) {
    await refreshWith(scene, registry, agentKey, lookAtRevision(agentKey, revision));
  }
}

async function startApi(scene: Scene): Promise<Publisher> {
  const command = runCommand(['serve'], {
    env: {
      AGENT_KNOWLEDGE_DATABASE_URL: scene.applicationUrl,
      AGENT_KNOWLEDGE_MIGRATE: 'never',
      AGENT_KNOWLEDGE_DATA_DIR: scene.folder,
      AGENT_KNOWLEDGE_PORT: '0',
    },
  });
  const [, port = ''] = await untilSaid(command, /"url":"http:\/\/[^"]*:(\d+)"/);
  const key = (await readFile(join(scene.folder, 'admin-key'), 'utf8')).trim();
  const call = await asOperator(scene.context);
  const body = JSON.stringify({ query: packageChanged, variables: {} });
  return {
    pid: command.process.pid ?? 0,
    port: Number(port),
    request: post(Number(port), body, { authorization: `Bearer ${key}`, 'content-type': 'application/json' }),
    async publish() {
      active = 3 - active;
      await activateVersion(call, { agentKey, knowledgeVersion: `v${active}` });
    },
    [Symbol.asyncDispose]: () => command[Symbol.asyncDispose](),
  };
}

async function startPlain(): Promise<Publisher> {
  const {
    child,
    first,
    [Symbol.asyncDispose]: dispose,
  } = await startScript('../../bench/subscribers/plain-server.ts', []);
  const port = Number(first);
  return {
    pid: child.pid ?? 0,
    port,
    request: post(port, '', {}),
    publish: async () => void child.send('publish'),
    [Symbol.asyncDispose]: dispose,
  };
}

function post(port: number, body: string, headers: Readonly<Record<string, string>>): string {
  const all = {
    host: `127.0.0.1:${port}`,
    accept: 'text/event-stream',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /graphql HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}

async function ask(child: ChildProcess, message: ToClient, answer: FromClient['type']): Promise<void> {
  const answered = next(child, answer);
  child.send(message);
  await answered;
}

async function next(child: ChildProcess, type: FromClient['type']): Promise<FromClient> {
  const ended = new AbortController();
  const over = once(child, 'exit', { signal: ended.signal }).then(() => {
    throw new Error('The process of the subscribers has ended.');
  });
  over.catch(() => undefined);
  try {
    for (;;) {
      const [message] = (await Promise.race([once(child, 'message'), over])) as [FromClient];
      if (message.type === type) return message;
    }
  } finally {
    ended.abort();
  }
}

async function residentMib(pid: number): Promise<number> {
  const [, kib = '0'] = /VmRSS:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, 'latin1')) ?? [];
  return Number(kib) / 1024;
}
