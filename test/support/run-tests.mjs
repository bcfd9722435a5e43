// Runs the suite. `--long` runs the long forms as well (recipes in full, controls that take minutes); every other
// argument goes to vitest. The report for `.ci/run` is written beside the data, which git ignores.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const args = process.argv.slice(2);
const long = args.includes('--long');
const report = fileURLToPath(new URL('../../.data/test-report.json', import.meta.url));
const { status, error } = spawnSync(
  process.execPath,
  [
    fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url)),
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...args.filter((arg) => arg !== '--long'),
  ],
  {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...(long ? { AGENT_KNOWLEDGE_TEST_LONG: '1' } : {}) },
  },
);
if (error) console.error(error.message);
process.exitCode = status ?? 1;
