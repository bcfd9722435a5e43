import { constants, type BigIntStats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { SourceError } from '../core/errors.ts';

/** One byte more than a registry may have, so that a longer one is seen to be longer. */
const maxBytes = 16 * 1024 * 1024 + 1;

/**
 * The registry's exact bytes, at most one more than it may have; null when there is no such file. Opened without
 * waiting, so that a named pipe in its place cannot hang the reader.
 *
 * Throws `SourceError` where something is there that cannot be read.
 */
export async function readRegistryFile(path: string): Promise<Uint8Array | null> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = await file.stat();
    if (!found.isFile()) throw new SourceError('stop', `The registry must be a regular file: ${path}.`);
    const bytes = Buffer.alloc(Math.min(found.size + 1, maxBytes));
    let length = 0;
    for (;;) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
      length += bytesRead;
      if (bytesRead === 0 || length === bytes.length) return bytes.subarray(0, length);
    }
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return null;
    if (error instanceof SourceError) throw error;
    throw new SourceError('retry', `The registry cannot be read: ${path}.`, { cause: error });
  }
}

/** A text that changes whenever the file at this path is another or has been written to; empty when there is none. */
export async function statPrint(path: string): Promise<string> {
  try {
    return printOf(await stat(path, { bigint: true }));
  } catch {
    return ''; // Absent and unreadable alike: whatever it is, a look will say it.
  }
}

function printOf(found: BigIntStats): string {
  return [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(':');
}

/** A registry's file for whoever keeps an eye on it. */
export interface RegistryFile {
  readonly path: string;
  /** Its bytes; null where there is no such file. */
  readonly read: () => Promise<Uint8Array | null>;
  /** A text that changes when the file does, cheaply. */
  readonly print: () => Promise<string>;
}

export function registryFileAt(path: string): RegistryFile {
  return { path, read: () => readRegistryFile(path), print: () => statPrint(path) };
}
