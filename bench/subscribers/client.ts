/**
 * Many readers of one server in a process of their own, so that what they cost is not the server's: plain sockets that
 * look for one word. Told to open so many, and then before each publication to look again, it says when each had it.
 */
import { connect, type Socket } from 'node:net';
import { monotonicMs } from '../../test/support/history/line-file.ts';

export type ToClient =
  | { readonly type: 'open'; readonly port: number; readonly count: number; readonly request: string }
  | { readonly type: 'look' };
export type FromClient =
  | { readonly type: 'begun' | 'opened' | 'looking' }
  | { readonly type: 'had'; readonly times: readonly number[] };

const word = 'event: next';
const sockets: Socket[] = [];
let times: number[] = [];

process.once('disconnect', () => process.exit());
process.on('message', (message: ToClient) => {
  if (message.type === 'look') {
    times = [];
    say({ type: 'looking' });
    return;
  }
  void openAll(message).then(() => say({ type: 'opened' }));
});
say({ type: 'begun' });

async function openAll({ port, count, request }: Extract<ToClient, { type: 'open' }>): Promise<void> {
  while (sockets.length < count) {
    const wave = Array.from({ length: Math.min(50, count - sockets.length) }, () => open(port, request));
    sockets.push(...(await Promise.all(wave)));
  }
}

/** Resolves once the server has answered. */
function open(port: number, request: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(request));
    socket.once('error', reject).once('close', () => reject(new Error('A connection was closed.')));
    socket.on('data', (chunk: Buffer) => {
      resolve(socket);
      if (!chunk.includes(word)) return;
      times.push(monotonicMs());
      if (times.length === sockets.length) say({ type: 'had', times });
    });
  });
}

function say(message: FromClient): void {
  process.send?.(message);
}
