import type { Exchange } from './exchange.ts';
import { Refusal } from './refusal.ts';

/** The hosts a request may be addressed to: the public one, and this machine by its names, with the port. */
export function allowedHosts(where: {
  readonly host: string;
  readonly port: number;
  readonly publicUrl: string | null;
}): ReadonlySet<string> {
  const names = ['127.0.0.1', 'localhost', '[::1]', bracketed(where.host)];
  const local = names.map((name) => new URL(`http://${name}:${where.port}`).host);
  return new Set([...local, ...(where.publicUrl === null ? [] : [new URL(where.publicUrl).host])]);
}

/**
 * Refuses a request that is addressed to another host: a page whose name was made to resolve to this machine speaks
 * with its own host name (T3, DNS rebinding).
 */
export function checkHost({ request }: Exchange, allowed: ReadonlySet<string>): void {
  const host = request.headers.host?.toLowerCase() ?? '';
  if (allowed.has(host)) return;
  throw new Refusal(
    421,
    'This server does not answer for the host that was asked for. AGENT_KNOWLEDGE_PUBLIC_URL names its public one.',
  );
}

/** An address as it stands in a URL. */
export function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}
