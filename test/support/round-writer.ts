/**
 * A process that saves two files of a package round after round until it is killed or its parent ends (R9): `x.md` by
 * rename, then `y.md` in place in pieces of 4 KB, each tagged with the round, with up to 5 ms between its steps; it
 * rests between rounds. Every tenth round it stops for `LONG` ms between the two files.
 *
 * Says `ready` first, and after each round how long the folder stood still in the middle of it at the longest.
 */
import { closeSync, openSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const [folder = '.', longMs = '0', restMs = '0'] = process.argv.slice(2);
const pieces = 3;

/** 4 KB of lines that name the round. */
function pieceOf(round: number): string {
  const line = `round ${String(round).padStart(8, '0')}\n`;
  return line.repeat(Math.floor(4096 / line.length)).padEnd(4096, '\n');
}

async function save(round: number): Promise<number> {
  const piece = pieceOf(round);
  let touched = performance.now();
  let stillMs = 0;
  const touch = (): void => {
    stillMs = Math.max(stillMs, performance.now() - touched);
    touched = performance.now();
  };
  writeFileSync(join(folder, '.x.tmp'), piece.repeat(pieces));
  renameSync(join(folder, '.x.tmp'), join(folder, 'x.md'));
  touched = performance.now();
  await sleep(round % 10 === 0 ? Number(longMs) : Math.random() * 5);
  const file = openSync(join(folder, 'y.md'), round === 0 ? 'w' : 'r+');
  for (let at = 0; at < pieces; at += 1) {
    writeSync(file, piece, at * piece.length);
    touch();
    if (at + 1 < pieces) await sleep(Math.random() * 5);
  }
  closeSync(file);
  return stillMs;
}

// Also where its parent had no time to end it.
const parent = process.ppid;
await save(0);
process.send?.('ready');
for (let round = 1; process.ppid === parent; round += 1) {
  process.send?.({ round, stillMs: await save(round) });
  await sleep(Math.random() * Number(restMs));
}
process.exit();
