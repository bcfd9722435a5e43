import { CommanderError, type Command } from 'commander';
import { KnowledgeError, SourceError, messageOf } from '../core/errors.ts';
import type { Cli, CliDeps } from './cli.ts';
import { printable } from './output/printable.ts';

/** What sysexits.h calls EX_USAGE. */
const wrongUsage = 64;

/** Why a command ended, as every door of the command line tells it. */
interface Failure {
  /** The codes of GraphQL, and a few for what happens only here. */
  readonly code: string;
  /** Sentences; the faults of settings stand one below the other. */
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * Tells why a command ended and answers the exit code: on stderr in words, with the usage of the command where that was
 * missed, without a stack trace unless it is a fault of ours; with `--json` as the one document on stdout too.
 */
export function reportError(error: unknown, cli: Cli): number {
  if (error instanceof CommanderError && error.exitCode === 0) return 0; // Help or the version was asked for.
  const failure = failureOf(error, cli.deps);
  const { code, message, details } = failure;
  const isUsage = code === 'WRONG_USAGE' || code === 'BAD_USER_INPUT';
  // Whoever names no command has been shown the help.
  if (!isHelpShown(error)) {
    const title = cli.paintNote('bad', 'agent-knowledge:');
    cli.note(`${title} ${message.split('\n').map(printable).join('\n')}`);
    if (isUsage && cli.command !== null) cli.note(usageOf(cli.command));
  }
  if (code === 'INTERNAL') cli.note(error instanceof Error ? (error.stack ?? '') : '');
  if (cli.isJson && !cli.hasPrinted) cli.printJson({ error: { code, message, details } });
  return isUsage ? wrongUsage : 1;
}

function failureOf(error: unknown, deps: CliDeps): Failure {
  const message = messageOf(error);
  if (error instanceof CommanderError) return plain('WRONG_USAGE', usageMessage(error));
  if (error instanceof KnowledgeError) return { code: error.code, message, details: error.details };
  if (deps.isSettingsError(error)) return plain('WRONG_SETTINGS', message);
  if (error instanceof SourceError) return plain('SOURCE_TROUBLE', message);
  return plain(isFileError(error) ? 'FILE_TROUBLE' : 'INTERNAL', message);
}

function plain(code: string, message: string): Failure {
  return { code, message, details: {} };
}

/** What commander says of a wrong command line, in one sentence. */
function usageMessage(error: CommanderError): string {
  if (isHelpShown(error)) return 'A command was expected.';
  const [first = '', ...more] = error.message.trim().split('\n');
  const message = [first.replace(/^error: /, ''), ...more].join(' ');
  return /[.?)]$/.test(message) ? message : `${message}.`;
}

function isHelpShown(error: unknown): boolean {
  return error instanceof CommanderError && error.code === 'commander.help';
}

function usageOf(command: Command): string {
  return `Usage: ${command.createHelp().commandUsage(command)} (--help says more)`;
}

/** What the operating system refuses: the message names the path and the reason. */
function isFileError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && 'code' in error;
}
