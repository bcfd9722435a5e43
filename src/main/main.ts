import { takesColour } from '../cli/output/colour.ts';
import { columnsOf } from '../cli/output/text-look.ts';
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
    outIsTerminal: process.stdout.isTTY ?? false,
    isTerminal: process.stderr.isTTY ?? false,
    terminal: process.stderr,
    colours: {
      out: takesColour(process.stdout.isTTY ?? false, process.env),
      err: takesColour(process.stderr.isTTY ?? false, process.env),
    },
    columns: columnsOf(process.stdout),
  }),
);
if (process.connected) process.disconnect();
