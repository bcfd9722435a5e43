import type { Settings } from '../../config/settings.ts';
import { bracketed } from '../http/host-check.ts';

/**
 * The address that a browser opens, without a slash at its end; null where nobody but the running server knows its port.
 * A server that listens on every address is reached on this machine by its loopback address.
 */
export function publicUrlOf(settings: Pick<Settings, 'publicUrl' | 'host' | 'port'>): string | null {
  if (settings.publicUrl !== null) return settings.publicUrl.replace(/\/+$/, '');
  return settings.port === 0 ? null : localUrl(settings.host, settings.port);
}

/** The same of a server that runs and says its own address, whatever port it was to choose. */
export function reachedUrl(settings: Pick<Settings, 'publicUrl' | 'host'>, url: string): string {
  const port = Number(new URL(url).port) || 80; // The usual one is left out.
  return publicUrlOf({ ...settings, port }) ?? url;
}

/** The address of a server of this machine. */
export function localUrl(host: string, port: number): string {
  const everywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1', '[::]': '::1' };
  return `http://${bracketed(everywhere[host] ?? host)}:${port}`;
}
