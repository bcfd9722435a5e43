import { takesColour } from '../cli/output/colour.ts';
import { columnsOf } from '../cli/output/text-look.ts';
import { runProgram } from '../cli/program.ts';
import { makeCliDeps } from './cli-deps.ts';
import { readSettings } from './environment.ts';

/** Whether a part of the result has been lost, on a full disk for instance: that must not look like a success. */
let isCut = false;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that has seen enough, such as `head`, closes its end; that is no fault.
  if (isCut || error.code === 'EPIPE') return;
  isCut = true;
  process.exitCode = 1;
  process.stderr.write(`agent-knowledge: The output could not be written: ${error.message}.\n`);
});
// Nobody is left to be told, and the exit code says the rest.
process.stderr.on('error', () => undefined);

const exitCode = await runProgram(
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
process.exitCode = isCut ? 1 : exitCode;
if (process.connected) process.disconnect();
