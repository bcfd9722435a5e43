import { bundleChecksum } from './checksum.ts';
import { checkContent, isBlank } from './content/content-safety.ts';
import { planCapture, type CapturePolicy, type KnownPackage } from './plan-capture.ts';
import type { Finding } from './finding.ts';
import type { FileLook, PackageLook, PresentFile } from './look.ts';
import type { Bundle, BundleFile, FileDefinition, PackageDefinition, Sha256 } from './package.ts';

/** Bytes that one package holds at most. */
export const maxPackageBytes = 16 * 1024 * 1024;

export interface RefreshInput {
  readonly definition: PackageDefinition;
  readonly judged: JudgedLook;
  readonly known: KnownPackage;
  /** The ticket drawn before the look. */
  readonly ticket: number;
  readonly policy: CapturePolicy;
}

/** What a refresh comes to; the operation carries it out and decides nothing more. */
export type RefreshPlan =
  | { readonly outcome: 'SUPERSEDED' }
  | {
      readonly outcome: 'FAILED' | 'VALIDATION_FAILED';
      /** Everything that speaks against the package; the first one is the reason. */
      readonly faults: readonly [Finding, ...Finding[]];
      readonly warnings: readonly Finding[];
    }
  | {
      readonly outcome: 'UNCHANGED';
      readonly matchingNumber: number;
      readonly checksum: Sha256;
      readonly warnings: readonly Finding[];
    }
  | {
      readonly outcome: 'LOADED';
      readonly number: number;
      readonly bundle: Bundle;
      readonly activates: boolean;
      readonly hold: { readonly cause: 'SHRANK' | 'RATE'; readonly reason: string } | null;
      readonly warnings: readonly Finding[];
      readonly skippedOptional: readonly string[];
    };

/**
 * Decides what one look means for one package: pure and total, the same inputs give the same plan.
 *
 * A plan never touches the active version unless it is `LOADED` (K-022, K-080…K-082, K-089), and it loads only a
 * bundle that differs from both the active and the newest version, so that a rollback survives every later look at an
 * unchanged source (K-063, G-07). A look older than the last finished one is `SUPERSEDED` (G10).
 */
export function planRefresh(input: RefreshInput): RefreshPlan {
  const { judged } = input;
  if (input.ticket <= input.known.lastTicket) return { outcome: 'SUPERSEDED' };
  const [reason, ...others] = judged.faults;
  if (reason === undefined) return planCapture({ ...input, ...judged });
  return {
    outcome: judged.failed ? 'FAILED' : 'VALIDATION_FAILED',
    faults: [reason, ...others],
    warnings: judged.warnings,
  };
}

/** What a look is worth by itself, before anything is known of earlier versions. */
export interface JudgedLook {
  readonly bundle: Bundle;
  readonly faults: readonly Finding[];
  /** True when a file could not be fetched, false when only content was refused. */
  readonly failed: boolean;
  readonly warnings: readonly Finding[];
  readonly skippedOptional: readonly string[];
}

/**
 * Judges a look with content: root, then files in load order, then content; the first fault is the reason, all of them
 * are told (K-022, K-023, K-084…K-089). Takes milliseconds per megabyte, so it runs before any lock is taken.
 */
export function judgeLook(
  definition: PackageDefinition,
  look: PackageLook,
  maxFileBytes: number,
): JudgedLook {
  if (!definition.enabled) return onlyFaults([disabledFault(definition)]);
  if (look.root === 'trouble') return { ...onlyFaults([rootFault(look)]), warnings: rootHints(look) };
  const files = definition.files.map((file, index) => judgeFile(file, look.files[index], maxFileBytes));
  const bundleFiles = files.flatMap((file) => file.loaded ?? []);
  const bundle = toBundle(bundleFiles);
  const fetchFaults = files.flatMap((file) => file.fetchFaults);
  const contentFaults = files.flatMap((file) => file.contentFaults);
  // A file that is there and refused for its content says more than that nothing else is there.
  if (fetchFaults.length + contentFaults.length + bundleFiles.length === 0) {
    fetchFaults.push(emptyPackageFault(definition));
  }
  if (bundle.totalSizeBytes > maxPackageBytes) contentFaults.push(tooLargeFault(bundle));
  return {
    bundle,
    faults: [...fetchFaults, ...contentFaults],
    failed: fetchFaults.length > 0,
    warnings: [...look.notices, ...files.flatMap((file) => file.warnings)],
    skippedOptional: files.flatMap((file) => file.skipped ?? []),
  };
}

interface JudgedFile {
  readonly loaded?: BundleFile;
  readonly skipped?: string;
  readonly fetchFaults: readonly Finding[];
  readonly contentFaults: readonly Finding[];
  readonly warnings: readonly Finding[];
}

function judgeFile(file: FileDefinition, found: FileLook | undefined, maxFileBytes: number): JudgedFile {
  const nothing = { fetchFaults: [], contentFaults: [], warnings: [] };
  if (found === undefined || found.state === 'absent') {
    const hints = found?.hints ?? [];
    // K-023: an absent optional file is skipped; what looks like it is still worth a word.
    if (!file.required) return { ...nothing, skipped: file.relativePath, warnings: hints };
    return { ...nothing, fetchFaults: [missingFault(file)], warnings: hints };
  }
  if (found.state === 'refused') {
    const fault = { code: found.code, relativePath: file.relativePath, line: null, message: found.message };
    return found.code === 'too_large'
      ? { ...nothing, contentFaults: [fault] }
      : { ...nothing, fetchFaults: [fault] };
  }
  return judgeContent(file, found, maxFileBytes);
}

function judgeContent(file: FileDefinition, found: PresentFile, maxFileBytes: number): JudgedFile {
  const content = found.content;
  if (content === null) throw new TypeError(`A look without content cannot be judged: ${file.relativePath}.`);
  if (isBlank(content)) {
    // G-12: an optional file that holds nothing counts as absent, with a word, since it is often half synced.
    return file.required
      ? { fetchFaults: [emptyFault(file)], contentFaults: [], warnings: [] }
      : { skipped: file.relativePath, fetchFaults: [], contentFaults: [], warnings: [emptyOptional(file)] };
  }
  const { faults, warnings } = checkContent({ relativePath: file.relativePath, content, maxFileBytes });
  const loaded = { ...file, checksum: found.checksum, sizeBytes: found.sizeBytes, content };
  return { loaded, fetchFaults: [], contentFaults: faults, warnings };
}

function toBundle(files: readonly BundleFile[]): Bundle {
  const totalSizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
  return { files, checksum: bundleChecksum(files), totalSizeBytes };
}

function onlyFaults(faults: readonly Finding[]): JudgedLook {
  return { bundle: toBundle([]), faults, failed: true, warnings: [], skippedOptional: [] };
}

/** The refusal of an agent that is switched off (G-11). */
export function disabledFault(definition: PackageDefinition): Finding {
  const message = `The registry lists ${definition.agentKey} as not enabled, so it is not refreshed.`;
  return { code: 'agent_disabled', relativePath: null, line: null, message };
}

function rootFault(look: Extract<PackageLook, { root: 'trouble' }>): Finding {
  const code = look.code === 'root_empty' ? 'root_missing' : look.code;
  return { code, relativePath: null, line: null, message: look.message };
}

/** An empty root looks like an unmounted one and is treated like it; the word tells the two apart. */
function rootHints(look: Extract<PackageLook, { root: 'trouble' }>): Finding[] {
  return look.code === 'root_empty'
    ? [{ code: 'root_empty', relativePath: null, line: null, message: look.message }]
    : [];
}

function missingFault(file: FileDefinition): Finding {
  const message = `Required file not found: ${file.relativePath}. The registry lists exactly this path.`;
  return { code: 'missing_required', relativePath: file.relativePath, line: null, message };
}

function emptyFault(file: FileDefinition): Finding {
  const message = `Required file holds no text: ${file.relativePath}. It may be half synced.`;
  return { code: 'empty_required', relativePath: file.relativePath, line: null, message };
}

function emptyOptional(file: FileDefinition): Finding {
  const message = `Optional file holds no text and was skipped: ${file.relativePath}. It may be half synced.`;
  return { code: 'empty_optional', relativePath: file.relativePath, line: null, message };
}

function emptyPackageFault(definition: PackageDefinition): Finding {
  const message = `None of the ${definition.files.length} listed files of ${definition.agentKey} is there; a package needs at least one.`;
  return { code: 'empty_package', relativePath: null, line: null, message };
}

function tooLargeFault(bundle: Bundle): Finding {
  const message = `The package holds ${bundle.totalSizeBytes} bytes; at most ${maxPackageBytes} are accepted.`;
  return { code: 'package_too_large', relativePath: null, line: null, message };
}
