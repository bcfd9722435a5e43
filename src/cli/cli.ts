import type { Command } from 'commander';
import type { Check } from '../core/check.ts';
import type { Finding } from '../core/finding.ts';
import type { NoticeReceiver } from '../core/notice-delivery.ts';
import type { FolderSurvey } from '../core/propose-registry.ts';
import type { CallContext, Policy } from '../operations/context.ts';
import type { KeyMaterial } from '../operations/manage-keys.ts';
import type { RefreshPreview } from '../operations/preview-refresh.ts';
import type { SignInMaterial } from '../operations/sign-in.ts';
import { paintColoured, paintPlain, type Paint } from './output/colour.ts';
import { printableJson } from './output/printable.ts';
import { noProgress, progressOn, type Progress } from './output/progress.ts';
import type { TextLook } from './output/text-look.ts';
import type { PackageName, RefreshRow } from './rows.ts';

/** A stand-in for Microsoft Graph to be served. */
export interface FakeGraphWanted {
  /** The folder that is the drive. */
  readonly root: string;
  readonly port: number;
  readonly https: boolean;
  /** Null: a random one. */
  readonly token: string | null;
  /** Where its certificate is written; null: nowhere. */
  readonly writeCertificate: string | null;
  /** Run with the settings that lead to it; empty: they are printed. */
  readonly command: readonly string[];
}

/** Everything the command line is given from outside; made by a composition root, lazily, so that help needs nothing. */
export interface CliDeps {
  /** The program's own version. */
  readonly version: string;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** Whether a person watches stdout; what goes elsewhere is never cut to a width. */
  readonly outIsTerminal: boolean;
  /** Whether a person watches stderr. */
  readonly isTerminal: boolean;
  /** The stream of stderr, where progress is shown if a person watches it; null: nowhere. */
  readonly terminal: NodeJS.WriteStream | null;
  /** Which of the streams take colours; `--no-color` goes before it. */
  readonly colours: { readonly out: boolean; readonly err: boolean };
  /** Width of the terminal. */
  readonly columns: number;
  readonly clock: () => Date;
  /** What the settings say; throws what `isSettingsError` knows. */
  readonly policy: () => Policy;
  /** Whether an error's message, of several lines perhaps, says what is wrong with the settings. */
  readonly isSettingsError: (error: unknown) => error is Error;
  /** Opens the database in the name of the person at this machine; throws `UNAVAILABLE` where there is none. */
  readonly openCall: () => Promise<CallContext & AsyncDisposable>;
  /** What a refresh would do, looked up by this process; `call` null: nothing is known of earlier versions. */
  readonly planHere: (name: PackageName, call: CallContext | null) => Promise<RefreshPreview>;
  /** Refreshes without a daemon. */
  readonly refreshHere: (call: CallContext, request: HereRequest) => Promise<HereRefresh>;
  /** The bytes of the registry at a path, or of the one the settings name; null where there is no such file. */
  readonly readRegistry: (
    path: string | undefined,
  ) => Promise<{ readonly path: string; readonly bytes: Uint8Array | null }>;
  /** Checks everything on this machine; changes nothing, and what is broken is one of the checks. */
  readonly diagnose: () => Promise<readonly Check[]>;
  /** What a registry could list of a folder; throws `SourceError` where it cannot be opened. */
  readonly surveyFolder: (path: string) => Promise<FolderSurvey>;
  readonly newKeyMaterial: () => KeyMaterial;
  /** Where the settings have notices sent; null where nobody is told. */
  readonly openReceiver: () => Promise<NoticeReceiver | null>;
  readonly newNoticeId: () => string;
  readonly newSignInMaterial: () => SignInMaterial;
  /** How browsers sign in: whether they must, where (null: the port is not known here), and who asks by default. */
  readonly signIn: () => Promise<{
    readonly isNeeded: boolean;
    readonly url: string | null;
    readonly userName: string;
  }>;
  readonly runStart: () => Promise<void>;
  readonly runServe: () => Promise<void>;
  /** Answers with the exit code. */
  readonly runFakeGraph: (wanted: FakeGraphWanted) => Promise<number>;
  readonly runDaemon: () => Promise<void>;
  /** Migrates; answers where the admin key lies if one was made, and where the one is now that lay there before. */
  readonly runMigrate: () => Promise<{ readonly path: string; readonly earlierPath: string | null } | null>;
}

export interface HereRequest {
  /** Null: every enabled agent. */
  readonly agentKey: string | null;
  readonly environment: string;
  readonly acceptShrink: boolean;
  /** How long to wait for a look of another process that has taken the request over. */
  readonly waitSeconds: number;
  /** Hears of each package when it is done. */
  readonly progress: Pick<Progress, 'begin' | 'step'>;
}

export interface HereRefresh {
  readonly refreshes: readonly RefreshRow[];
  /** Why nothing could be asked for: the registry is refused, and there has never been a valid one. */
  readonly registryFaults: readonly Finding[];
}

/** One run of the command line: where its commands write, and what it will exit with. */
export class Cli {
  readonly deps: CliDeps;
  /** 0 done, 1 it failed, 64 wrong usage; `plan` also says 2. */
  exitCode = 0;
  /** The command that runs, or that the command line was no usage of. */
  command: Command | null = null;
  /** Whether stdout holds one JSON document and nothing else. */
  readonly isJson: boolean;
  readonly #isColourless: boolean;
  #hasPrinted = false;

  /** `arguments_`: what was given, since also what cannot be understood is answered as it asks for. */
  constructor(deps: CliDeps, arguments_: readonly string[]) {
    this.deps = deps;
    const own = arguments_.slice(0, arguments_.indexOf('--') + 1 || undefined);
    this.isJson = own.includes('--json');
    this.#isColourless = own.includes('--no-color');
  }

  /** Whether the result, or a part of it, stands on stdout already. */
  get hasPrinted(): boolean {
    return this.#hasPrinted;
  }

  /** Paints a printable text for stdout, where stdout takes colours. */
  get paint(): Paint {
    return this.deps.colours.out && !this.#isColourless ? paintColoured : paintPlain;
  }

  /** How text is shown on stdout. */
  get look(): TextLook {
    const { outIsTerminal, columns } = this.deps;
    return { width: outIsTerminal ? columns : null, paint: this.paint };
  }

  /** Paints a printable text for stderr, where stderr takes colours. */
  get paintNote(): Paint {
    return this.deps.colours.err && !this.#isColourless ? paintColoured : paintPlain;
  }

  /** Prints result lines, which must be printable. */
  print(...lines: readonly string[]): void {
    this.#hasPrinted = true;
    this.deps.stdout(lines.map((line) => `${line}\n`).join(''));
  }

  /** Prints a text for another program byte for byte; never to a terminal, which would obey what is in it. */
  printExact(text: string): void {
    this.#hasPrinted = true;
    this.deps.stdout(text);
  }

  /** Prints the one document of `--json`. */
  printJson(value: unknown): void {
    this.print(printableJson(value));
  }

  /** Whether a person watches what is said beside the result. */
  get isWatched(): boolean {
    return this.deps.isTerminal && !this.isJson;
  }

  /** Shows how far long work is, to whoever watches stderr; `verb` as in `Refreshing`. */
  progress(verb: string): Progress {
    const { terminal } = this.deps;
    return this.isWatched && terminal !== null ? progressOn(terminal, verb) : noProgress;
  }

  /** Says what a person may want to do next; to nobody where none watches. */
  hint(...lines: readonly string[]): void {
    if (this.isWatched) this.note(...lines.map((line) => this.paintNote('quiet', line)));
  }

  /** Says something beside the result. */
  note(...lines: readonly string[]): void {
    this.deps.stderr(lines.map((line) => `${line}\n`).join(''));
  }
}
