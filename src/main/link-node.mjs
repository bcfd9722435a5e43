// Runs after `npm ci`. npm 10 drops the link to a program that several optional packages bring, when it drops those of
// other platforms; without the link the scripts would run under the outer Node.js.
import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findBundledNode } from './bundled-node.mjs';

const link = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url));
const bundled = findBundledNode();
if (bundled !== null && !existsSync(link)) {
  const target = relative(dirname(link), bundled);
  if (process.platform === 'win32') writeFileSync(`${link}.cmd`, `@"%~dp0${target}" %*\r\n`);
  else symlinkSync(target, link);
}
