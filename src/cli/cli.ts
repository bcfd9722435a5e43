import type { Check } from '../core/check.ts';
import type { Finding } from '../core/finding.ts';
import type { FolderSurvey } from '../core/propose-registry.ts';
import type { CallContext, Policy } from '../operations/context.ts';
import type { KeyMaterial } from '../operations/manage-keys.ts';
import type { RefreshPreview } from '../operations/preview-refresh.ts';
import { printableJson } from './output/printable.ts';
import type { PackageName, RefreshRow } from './rows.ts';

/** Everything the command line is given from outside; made by a composition root, lazily, so that help needs nothing. */
export interface CliDeps {
  /** The program's own version. */
  readonly version: string;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** Whether a person watches stderr. */
  readonly isTerminal: boolean;
  /** Width of the terminal, for help texts. */
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
  readonly runStart: () => Promise<void>;
  readonly runServe: () => Promise<void>;
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

  constructor(deps: CliDeps) {
    this.deps = deps;
  }

  /** Prints result lines, which must be printable. */
  print(...lines: readonly string[]): void {
    this.deps.stdout(lines.map((line) => `${line}\n`).join(''));
  }

  /** Prints the one document of `--json`. */
  printJson(value: unknown): void {
    this.print(printableJson(value));
  }

  /** Says something beside the result. */
  note(...lines: readonly string[]): void {
    this.deps.stderr(lines.map((line) => `${line}\n`).join(''));
  }
}
