import { Pool, type PoolConfig } from 'pg';

/** Options of a connection as startup parameters: they hold from the first statement on and need no round trip. */
export function startupOptions(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value.replaceAll(/([ \\])/g, String.raw`\$1`)}`)
    .join(' ');
}

/**
 * A small pool of plain connections. Every pool of the project outside the ORM is made here, since a pool or client
 * without an `error` listener ends the process when the server drops an idle connection (`reliability.md` finding 19).
 */
export function openPool(
  url: string,
  settings: Readonly<Record<string, string>>,
  config: Omit<PoolConfig, 'connectionString' | 'options'> = {},
): Pool {
  const pool = new Pool({ connectionString: url, options: startupOptions(settings), ...config });
  pool.on('error', dropped);
  pool.on('connect', (client) => client.on('error', dropped));
  return pool;
}

/** The query in flight rejects on its own; an idle connection is simply replaced. */
function dropped(): void {}
