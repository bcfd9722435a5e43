import { existsSync } from 'node:fs';
import { openRootByPath } from './place-by-path.ts';
import { openRootByDescriptor, type Place } from './place.ts';

/** The root in the strongest form this system has. */
export function openRootHere(path: string): Place {
  return existsSync('/proc/self/fd') ? openRootByDescriptor(path) : openRootByPath(path);
}
