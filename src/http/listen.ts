import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KnowledgeError, messageOf } from '../core/errors.ts';

/** Listens and answers the port; throws in words for the one who set host and port. */
export async function listen(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<number> {
  server.listen({ port, host: host.replace(/^\[(.*)\]$/, '$1') });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new KnowledgeError('UNAVAILABLE', explain(error, host, port), { cause: error });
  }
  return (server.address() as AddressInfo).port;
}

function explain(error: unknown, host: string, port: number): string {
  switch ((error as { code?: string }).code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is in use by another program. Set AGENT_KNOWLEDGE_PORT to another port, or to 0 for a free one.`;
    case 'EACCES':
      return `Port ${port} on ${host} may not be used by this user. Set AGENT_KNOWLEDGE_PORT to one above 1023.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is no address of this machine. Set AGENT_KNOWLEDGE_HOST to one that is, such as 127.0.0.1.`;
    default:
      return `Listening on ${host}, port ${port}, failed: ${messageOf(error)}`;
  }
}
