import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port of 127.0.0.1 nobody listens on at this moment: the preferred one, else any. Only the server's own start
 * decides; it is repeated with another port where this one was taken in between.
 */
export async function findFreePort(preferred: number | null): Promise<number> {
  const server = createServer();
  try {
    server.listen({ host: '127.0.0.1', port: preferred ?? 0, exclusive: true });
    await once(server, 'listening');
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  } catch (error) {
    if (preferred === null) {
      throw error;
    }
    return await findFreePort(null);
  } finally {
    server.close();
  }
}
