import { once } from 'node:events';
import type { Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';

/**
 * How long connections that are kept alive stay once the server takes no new ones, in milliseconds: what they still bring
 * is answered, and told that it was the last. Closed at once, they would cut off the request that is on its way.
 */
const lingerMs = 1000;

/** How often connections that have become idle after that are closed, in milliseconds. */
const idleCheckMs = 50;

/**
 * How to close this server: no connection is accepted from then on, requests under way and those that idle connections
 * still bring are answered until the grace is over, then every socket is dropped (F13). Made before it listens, since it
 * must know the connections that have not said anything.
 */
export function prepareShutdown(server: Server): (graceMs: number) => Promise<void> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return async (graceMs) => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    // Of an HTTP server this would close the idle connections too, and stop looking for slow senders.
    NetServer.prototype.close.call(server);
    const timers = new AbortController();
    const linger = setTimeout(() => closeIdle(server, sockets, timers.signal), Math.min(lingerMs, graceMs));
    const grace = setTimeout(() => server.closeAllConnections(), graceMs);
    await closed;
    timers.abort();
    clearTimeout(linger);
    clearTimeout(grace);
    server.close(); // Ends what the server does by the clock; there is nothing left to close.
  };
}

/** Closes what is idle, or has never said anything, until nothing is left. */
function closeIdle(server: Server, sockets: ReadonlySet<Socket>, signal: AbortSignal): void {
  const close = () => {
    server.closeIdleConnections();
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  };
  close();
  const timer = setInterval(close, idleCheckMs);
  signal.addEventListener('abort', () => clearInterval(timer));
}
