import { createServer, request as send } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A proxy before a real server that does what networks and strangers do. */
export interface Meddler extends AsyncDisposable {
  /** Where it listens, without a path. */
  readonly url: string;
  /** Cuts every connection; none is refused afterwards. */
  cut(): void;
  /** What it puts in the place of the next `last-event-id` that a client sends; null: nothing. */
  placeInstead: string | null;
  /** Of what a client has said about its place, all of it. */
  readonly places: string[];
  /** What it puts in the place of a text in the next answers that hold it; null: nothing. */
  alter: readonly [from: string, to: string] | null;
}

/** `target`: where the server is, asked with each request since it may come back at another port. */
export async function startMeddler(target: () => string): Promise<Meddler> {
  const sockets = new Set<Socket>();
  const server = createServer((incoming, outgoing) => pass(meddler, target(), incoming, outgoing));
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const meddler: Meddler = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    placeInstead: null,
    places: [],
    alter: null,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      meddler.cut();
      await closed;
    },
  };
  return meddler;
}

function pass(meddler: Meddler, target: string, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const headers: IncomingHttpHeaders = { ...incoming.headers, host: new URL(target).host };
  const place = headers['last-event-id'];
  if (typeof place === 'string') {
    meddler.places.push(place);
    if (meddler.placeInstead !== null) headers['last-event-id'] = meddler.placeInstead;
    meddler.placeInstead = null;
  }
  const give = () => outgoing.destroy();
  const onward = send(`${target}${incoming.url}`, { method: incoming.method, headers }, (answer) => {
    const changed = meddler.alter;
    if (changed !== null) delete answer.headers['content-length'];
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.on('error', give);
    answer.on('data', (bytes: Buffer) => {
      outgoing.write(changed === null ? bytes : bytes.toString().replaceAll(...changed));
    });
    answer.on('end', () => outgoing.end());
  });
  onward.on('error', give);
  outgoing.on('close', () => onward.destroy());
  incoming.pipe(onward);
}
