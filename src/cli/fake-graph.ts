import { InvalidArgumentError, type Command } from 'commander';
import type { Cli, FakeGraphWanted } from './cli.ts';
import { addCommand } from './options.ts';

interface FakeGraphOptions extends Omit<FakeGraphWanted, 'command' | 'token' | 'writeCertificate'> {
  readonly token?: string;
  readonly writeCertificate?: string;
}

/** `fake-graph`: a stand-in for Microsoft Graph over a folder, to try the source `graph` without a tenant. */
export function addFakeGraph(program: Command, cli: Cli): void {
  addCommand(program, {
    use: 'fake-graph [command...]',
    about:
      'try a SharePoint drive without one: serve a folder as Microsoft Graph would, on this machine only',
    example: ['fake-graph --root config/sample -- npm start', 'fake-graph --root config/sample --port 0'],
  })
    .requiredOption('--root <folder>', 'the folder that is the drive')
    .option('--port <port>', 'where it listens; 0 picks a free one', parsePort, 4010)
    .option('--token <token>', 'the access token that it takes; a random one where it is left out')
    .option('--https', 'over https, with a certificate made now', false)
    .option('--write-certificate <file>', 'where the certificate is written, for NODE_EXTRA_CA_CERTS')
    .action(async (command: readonly string[], options: FakeGraphOptions) => {
      const { https, token = null, writeCertificate = null, ...rest } = options;
      const wanted = { ...rest, token, writeCertificate, https: https || writeCertificate !== null, command };
      cli.exitCode = await cli.deps.runFakeGraph(wanted);
    });
}

function parsePort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError('Expected a port from 0 to 65535.');
}
