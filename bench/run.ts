import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import type { Bench, Figure } from './harness.ts';
import { drive } from './drive.bench.ts';
import { neighbours } from './neighbours.bench.ts';
import { recovery } from './recovery.bench.ts';
import { refreshes } from './refreshes.bench.ts';
import { resync } from './resync.bench.ts';
import { start } from './start.bench.ts';
import { storage } from './storage.bench.ts';
import { subscribers } from './subscribers.bench.ts';

const benches: readonly Bench[] = [
  start,
  refreshes,
  resync,
  storage,
  recovery,
  neighbours,
  subscribers,
  drive,
];
const results = new URL('results/', import.meta.url);

const wanted = process.argv.slice(2);
await mkdir(results, { recursive: true });
for (const bench of benches.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
  console.log(`\n${bench.name}`);
  const figures = await bench.run();
  for (const figure of figures) console.log(`  ${line(figure)}`);
  const machine = { node: process.version, cores: cpus().length, cpu: cpus()[0]?.model };
  await writeFile(
    new URL(`${bench.name}.json`, results),
    `${JSON.stringify({ name: bench.name, at: new Date().toISOString(), machine, figures }, null, 2)}\n`,
  );
}

function line({ name, value, unit, against }: Figure): string {
  const figure = `${name.padEnd(44)} ${round(value).padStart(10)} ${unit.padEnd(4)}`;
  return against
    ? `${figure} ${round(against.ratio)}x ${against.name} (${round(against.value)} ${unit})`
    : figure;
}

function round(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
