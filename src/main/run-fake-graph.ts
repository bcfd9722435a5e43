import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { FakeGraphWanted } from '../cli/cli.ts';
import { KnowledgeError } from '../core/errors.ts';
import { untilAskedToStop } from './lifetime.ts';
import { shellQuote } from './shell-quote.ts';

/**
 * `fake-graph`: serves a folder as Microsoft Graph would until it is asked to stop, or for as long as the command lives that is
 * run with the settings that lead there. It listens on loopback only and gives everybody there what the folder holds.
 *
 * Answers with the exit code. Throws `BAD_USER_INPUT` where the folder is none, and `UNAVAILABLE` where the port is taken or the stand-in is not installed.
 */
export async function runFakeGraph(wanted: FakeGraphWanted): Promise<number> {
  const stop = untilAskedToStop();
  const root = resolve(wanted.root);
  if (!(await stat(root).catch(() => null))?.isDirectory())
    throw new KnowledgeError('BAD_USER_INPUT', `--root must be a folder; there is none at ${root}.`);
  await using fake = await start({ ...wanted, root });
  const { writeCertificate, command } = wanted;
  const settings = fake.environment();
  if (writeCertificate !== null && fake.certificate !== null) {
    await writeFile(writeCertificate, fake.certificate);
    settings['NODE_EXTRA_CA_CERTS'] = resolve(writeCertificate);
  }
  console.error(
    `A stand-in for Microsoft Graph serves ${root} at ${fake.url}, for trying on this machine only. Ctrl-C ends it.`,
  );
  // For another terminal as well: what is run here has them already.
  for (const [name, value] of Object.entries(settings)) console.log(`export ${name}=${shellQuote(value)}`);
  if (command.length === 0) {
    await stop;
    return 0;
  }
  // Waited for here, or the server would be gone before the command has begun.
  return await runWith(settings, command, stop);
}

async function start({ root, port, https, token }: FakeGraphWanted) {
  try {
    const { startFakeGraph } = await import('../../test/support/fake-graph/fake-graph.ts');
    return await startFakeGraph({ root, port, https, ...(token !== null && { token }) });
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'EADDRINUSE')
      throw new KnowledgeError(
        'UNAVAILABLE',
        `Port ${port} is taken; name another one with --port, or 0 for a free one.`,
      );
    if (code === 'ERR_MODULE_NOT_FOUND')
      throw new KnowledgeError(
        'UNAVAILABLE',
        'The stand-in is part of the clone with its tests; it is not installed here.',
        {
          cause: error,
        },
      );
    throw error;
  }
}

/** The command's exit code. A terminal tells both of Ctrl-C; who asks only this process to stop is passed on. */
async function runWith(
  settings: Readonly<Record<string, string>>,
  [program = '', ...args]: readonly string[],
  stop: Promise<string>,
): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, ...settings } });
  void stop.then(() => child.kill('SIGTERM'));
  const [code] = (await once(child, 'exit').catch((error: unknown) => {
    throw new KnowledgeError('UNAVAILABLE', `The command ${program} could not be run.`, { cause: error });
  })) as [number | null];
  return code ?? 1;
}
