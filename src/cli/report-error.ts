import { CommanderError } from 'commander';
import { KnowledgeError, SourceError, messageOf } from '../core/errors.ts';
import type { CliDeps } from './cli.ts';
import { printable } from './output/printable.ts';

/** What sysexits.h calls EX_USAGE. */
const wrongUsage = 64;

/** Tells on stderr why a command ended, without a stack trace unless it is a fault of ours; answers the exit code. */
export function reportError(error: unknown, deps: CliDeps): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : wrongUsage; // It has spoken already.
  if (deps.isSettingsError(error)) {
    // The faults stand one below the other.
    deps.stderr(`agent-knowledge: ${error.message.split('\n').map(printable).join('\n')}\n`);
    return 1;
  }
  deps.stderr(`agent-knowledge: ${printable(messageOf(error))}\n`);
  if (!isExpected(error)) deps.stderr(`${error instanceof Error ? error.stack : ''}\n`);
  return error instanceof KnowledgeError && error.code === 'BAD_USER_INPUT' ? wrongUsage : 1;
}

function isExpected(error: unknown): boolean {
  return error instanceof KnowledgeError || error instanceof SourceError || isFileError(error);
}

/** What the operating system refuses: the message names the path and the reason. */
function isFileError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && 'code' in error;
}
