import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseVersionName } from '../core/package.ts';
import { addHelpEnd } from './help.ts';

/** What every command that answers something takes. */
export interface JsonOption {
  readonly json?: true;
}

/** What every command about packages takes; left out, the environment is the default one. */
export interface EnvironmentOption extends JsonOption {
  readonly env?: string;
}

/** Starts a command: its words in the help, and below them examples that work as pasted, and its exit codes. */
export function addCommand(
  parent: Command,
  words: {
    readonly use: string;
    readonly about: string;
    readonly example: string | readonly string[];
    /** Where they say more than that it failed. */
    readonly exits?: readonly string[];
  },
): Command {
  const command = parent.command(words.use).description(words.about);
  addHelpEnd(command, { examples: [words.example].flat(), exits: words.exits ?? [] });
  return command;
}

export function jsonOption(): Option {
  return new Option('--json', 'print one JSON document on stdout');
}

export function environmentOption(): Option {
  return new Option('--env <environment>', 'the environment; the default one where it is left out');
}

/** Reads `v3`. */
export function parseVersionArgument(text: string): string {
  if (parseVersionName(text) !== null) return text;
  throw new InvalidArgumentError('Expected a version such as v3.');
}

/** Reads a reason. */
export function parseReasonArgument(text: string): string {
  return refuseOption(text, '1 to 500 characters that say why');
}

/** Reads a name for a key or a sign-in. */
export function parseNameArgument(text: string): string {
  return refuseOption(text, 'a name');
}

/** A text that looks like an option is one that was forgotten, and must not become what others read. */
function refuseOption(text: string, expected: string): string {
  if (!/^--?[a-z]/i.test(text)) return text;
  throw new InvalidArgumentError(`Expected ${expected}; found an option.`);
}

/** Reads whole seconds, 0 to 60. */
export function parseSeconds(text: string): number {
  if (/^[0-9]{1,2}$/.test(text) && Number(text) <= 60) return Number(text);
  throw new InvalidArgumentError('Expected whole seconds from 0 to 60.');
}

/** Reads a count of rows. */
export function parseCount(text: string): number {
  if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number from 1 on.');
}

/** Makes a parser of `30d` (days from now) or a date in the future such as `2027-01-31` (UTC, from its first moment). */
export function expiryParser(clock: () => Date): (text: string) => Date {
  return (text) => {
    const now = clock();
    const expiry = readExpiry(text, now);
    if (expiry !== null && expiry > now) return expiry;
    throw new InvalidArgumentError('Expected days such as 30d, or a date to come such as 2027-01-31.');
  };
}

function readExpiry(text: string, now: Date): Date | null {
  const days = /^([1-9][0-9]{0,4})d$/.exec(text)?.[1];
  if (days !== undefined) return new Date(now.getTime() + Number(days) * 86_400_000);
  const isDate = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/.test(
    text,
  );
  const date = new Date(isDate ? text : Number.NaN);
  if (Number.isNaN(date.getTime())) return null;
  // 2027-02-31 would be taken for a day in March.
  return date.toISOString().startsWith(text.slice(0, 10)) || text.length > 10 ? date : null;
}
