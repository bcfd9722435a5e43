import type { Finding } from './finding.ts';
import type { Bundle, PackageDefinition, Sha256 } from './package.ts';
import type { RefreshPlan } from './plan-refresh.ts';

/** A version as far as a decision needs it. */
export interface KnownVersion {
  readonly number: number;
  readonly checksum: Sha256;
  readonly files: readonly { readonly relativePath: string; readonly sizeBytes: number }[];
}

/** What the locked package row says. */
export interface KnownPackage {
  readonly nextNumber: number;
  readonly lastTicket: number;
  readonly held: boolean;
  readonly active: KnownVersion | null;
  readonly newest: KnownVersion | null;
}

export interface CapturePolicy {
  /** `manual`: a version waits for a person to activate it. */
  readonly activate: 'auto' | 'manual';
  /** Whether a package that lost most of itself is held (`AGENT_KNOWLEDGE_SHRINK_HOLD`). */
  readonly shrinkHold: boolean;
  /** The caller has said that the loss is meant. */
  readonly acceptShrink: boolean;
  /** 0: no limit. */
  readonly maxVersionsPerHour: number;
  readonly versionsInLastHour: number;
}

/** Below this many bytes a file that shrinks by half is an edit, not a loss. */
const smallPackageBytes = 4096;

interface CaptureInput {
  readonly definition: PackageDefinition;
  readonly known: KnownPackage;
  readonly policy: CapturePolicy;
  readonly bundle: Bundle;
  readonly warnings: readonly Finding[];
  readonly skippedOptional: readonly string[];
}

/** The second half of a refresh, for a bundle nothing speaks against: nothing new, or the next number. */
export function planCapture(input: CaptureInput): RefreshPlan {
  const { known, bundle } = input;
  const matching = [known.active, known.newest].find((version) => version?.checksum === bundle.checksum);
  if (matching) {
    return {
      outcome: 'UNCHANGED',
      matchingNumber: matching.number,
      checksum: bundle.checksum,
      warnings: input.warnings,
    };
  }
  const hold = known.held ? null : findHold(input);
  return {
    outcome: 'LOADED',
    number: known.nextNumber,
    bundle,
    // K-078, and its limits: a held package only appends, and so does one that waits for a person.
    activates: !known.held && hold === null && input.policy.activate === 'auto',
    hold,
    warnings: [...input.warnings, ...findDisappeared(input)],
    skippedOptional: input.skippedOptional,
  };
}

function findHold(input: CaptureInput): Extract<RefreshPlan, { outcome: 'LOADED' }>['hold'] {
  const { policy } = input;
  const loss = policy.shrinkHold && !policy.acceptShrink ? findLoss(input) : null;
  if (loss !== null) return { cause: 'SHRANK', reason: loss };
  if (policy.maxVersionsPerHour > 0 && policy.versionsInLastHour >= policy.maxVersionsPerHour) {
    const reason = `${policy.versionsInLastHour} versions were made within an hour; ${policy.maxVersionsPerHour} are allowed.`;
    return { cause: 'RATE', reason };
  }
  return null;
}

/** What a package has lost against its newest version, when that is more than half of it; files taken off the registry do not count. */
function findLoss({ known, definition, bundle }: CaptureInput): string | null {
  if (known.newest === null) return null;
  const registered = new Set<string>(definition.files.map((file) => file.relativePath));
  const before = known.newest.files.filter((file) => registered.has(file.relativePath));
  const present = new Set<string>(bundle.files.map((file) => file.relativePath));
  const lost = before.filter((file) => !present.has(file.relativePath)).length;
  if (lost * 2 > before.length)
    return `${lost} of ${before.length} files of v${known.newest.number} are gone.`;
  const bytesBefore = before.reduce((sum, file) => sum + file.sizeBytes, 0);
  if (bytesBefore > smallPackageBytes && bundle.totalSizeBytes * 2 < bytesBefore) {
    return `Of ${bytesBefore} bytes of v${known.newest.number} ${bundle.totalSizeBytes} are left.`;
  }
  return null;
}

/** Optional files that the newest version had and this look had to skip: skipping is right, silence is not. */
function findDisappeared({ known, skippedOptional }: CaptureInput): Finding[] {
  const before = new Set(known.newest?.files.map((file) => file.relativePath));
  return skippedOptional
    .filter((path) => before.has(path))
    .map((relativePath) => ({
      code: 'optional_disappeared',
      relativePath,
      line: null,
      message: `Optional file was part of v${known.newest?.number} and is gone: ${relativePath}.`,
    }));
}
