/**
 * A process that changes files in a tight loop until it is killed or its parent ends: `exchange NAME` swaps NAME with
 * `.link` beside it, `grow NAME` appends some 50 MB a second, `rewrite NAME` writes other bytes of the same size over
 * and over. Says `ready` first.
 */
import { appendFileSync, closeSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';

const [deed, name = ''] = process.argv.slice(2);
const link = join(dirname(name), '.link');
const spare = join(dirname(name), '.spare');

function exchange(): void {
  renameSync(name, spare);
  renameSync(link, name);
  renameSync(name, link);
  renameSync(spare, name);
}

function grow(): void {
  appendFileSync(name, Buffer.alloc(65_536, 'g'));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
}

function rewrite(): () => void {
  const file = openSync(name, 'r+');
  process.on('exit', () => closeSync(file));
  let letter = 0;
  return () => {
    letter = (letter + 1) % 26;
    writeSync(file, Buffer.alloc(4096, 97 + letter), 0, 4096, 0);
  };
}

const deeds: Record<string, () => () => void> = {
  exchange: () => exchange,
  grow: () => grow,
  rewrite,
};
const again = deeds[deed ?? '']?.();
if (again === undefined) throw new Error(`Unknown deed: ${deed}.`);
process.send?.('ready');
// Also where its parent had no time to end it.
const parent = process.ppid;
while (process.ppid === parent) again();
process.exit();
