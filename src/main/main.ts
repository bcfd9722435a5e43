import { runProgram } from '../cli/program.ts';
import { makeCliDeps } from './cli-deps.ts';
import { readSettings } from './environment.ts';

// A reader that has seen enough, such as `head`, closes its end; that is no fault.
process.stdout.on('error', () => undefined);

process.exitCode = await runProgram(
  process.argv.slice(2),
  makeCliDeps(readSettings, {
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
    isTerminal: process.stderr.isTTY ?? false,
    columns: process.stdout.columns ?? 80,
  }),
);
if (process.connected) process.disconnect();
