import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';

/**
 * Stops accepting at once, lets requests under way end for the grace, then drops their sockets. A connection that is
 * kept alive would otherwise hold the end up until it has idled away.
 */
export async function closeServer(server: Server, graceMs: number): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.on('request', (_request, response: ServerResponse) => {
    if (!response.headersSent) response.setHeader('connection', 'close');
  });
  server.close();
  const idle = setInterval(() => server.closeIdleConnections(), 25);
  const grace = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(idle);
  clearTimeout(grace);
}
