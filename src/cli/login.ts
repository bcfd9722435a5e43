import type { Command } from 'commander';
import { KnowledgeError } from '../core/errors.ts';
import { scopes } from '../core/permissions.ts';
import { issueSignIn, signInLink } from '../operations/sign-in.ts';
import type { Cli } from './cli.ts';
import { addCommand, jsonOption, parseNameArgument, type JsonOption } from './options.ts';
import { printable } from './output/printable.ts';
import { formatTime } from './output/table.ts';
import { withCall } from './with-call.ts';

interface LoginOptions extends JsonOption {
  readonly name?: string;
  readonly scope?: readonly string[];
  readonly agent?: readonly string[];
  readonly environment?: readonly string[];
}

/** `login`: a link that signs one browser in, for twelve hours. */
export function addLogin(program: Command, cli: Cli): void {
  addCommand(program, {
    use: 'login',
    about: 'print a link that signs a browser in: it works once, within ten minutes, for twelve hours',
    example: ['login', 'login --name Anna --scope knowledge:read ai.knowledge.refresh --environment staging'],
  })
    .option(
      '--name <name>',
      'who signs in, for the audit log; your user name here where it is left out',
      parseNameArgument,
    )
    .option('--scope <scope...>', `what the browser may do, admin where it is left out: ${scopes.join(', ')}`)
    .option('--agent <agent...>', 'for these agents only')
    .option('--environment <environment...>', 'in these environments only')
    .addOption(jsonOption())
    .action((options: LoginOptions) => login(cli, options));
}

async function login(cli: Cli, options: LoginOptions): Promise<void> {
  const { isNeeded, url, userName } = await cli.deps.signIn();
  if (!isNeeded) return notNeeded(cli, options, url);
  if (url === null) throw portUnknown();
  const request = {
    name: options.name ?? userName,
    scopes: options.scope ?? ['admin'],
    agents: options.agent ?? null,
    environments: options.environment ?? null,
  };
  const material = cli.deps.newSignInMaterial();
  const issued = await withCall(cli, (call) => issueSignIn(call, request, material), {
    environments: options.environment ?? [],
  });
  const { sessionId, usableUntil } = issued;
  const link = signInLink(url, material);
  if (options.json) {
    const { name, agents, environments } = request;
    const rights = { scopes: issued.scopes, agents, environments };
    return cli.printJson({ sessionId, name, ...rights, url: link, usableUntil: usableUntil.toISOString() });
  }
  // The link alone, so that a script can take it from stdout.
  cli.print(link);
  cli.note(
    `Open it in a browser before ${formatTime(usableUntil)}: it signs ${printable(request.name)} in once, for twelve hours. ` +
      `To end that earlier, sign out there, or run "npx agent-knowledge keys revoke ${sessionId}".`,
  );
}

function notNeeded(cli: Cli, options: LoginOptions, url: string | null): void {
  const address = url === null ? null : `${url}/graphql`;
  if (options.json) return cli.printJson({ sessionId: null, url: address });
  if (address !== null) cli.print(address);
  cli.note(
    'No sign-in is needed: AGENT_KNOWLEDGE_AUTH is off, so everybody on this machine may do everything.',
  );
}

function portUnknown(): KnowledgeError {
  return new KnowledgeError(
    'UNAVAILABLE',
    'AGENT_KNOWLEDGE_PORT is 0, so only the running server knows its address. Set AGENT_KNOWLEDGE_PUBLIC_URL to what it has printed, or start it on a port of your choice.',
  );
}
