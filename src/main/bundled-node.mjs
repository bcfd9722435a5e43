import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The Node.js that `npm ci` brought along for this platform, or null where there is none. */
export function findBundledNode() {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const program = process.platform === 'win32' ? 'node.exe' : 'node';
  const path = fileURLToPath(
    new URL(`../../node_modules/node-${platform}-${process.arch}/bin/${program}`, import.meta.url),
  );
  return existsSync(path) ? path : null;
}
