import { existsSync } from 'node:fs';
import { openRootByPath } from './place-by-path.ts';
import { openRootByDescriptor, type Place } from './place.ts';

/** Opens a root in the strongest form this system has. */
export const openRootHere: (path: string) => Place = existsSync('/proc/self/fd')
  ? openRootByDescriptor
  : openRootByPath;
