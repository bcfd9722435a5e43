import type { Call } from './record.ts';
import { describeCall } from './record.ts';
import type { Deed } from './deeds.ts';
import type { FinalPackage } from './final-state.ts';
import type { Timeline } from './timeline.ts';

/** The checks of `reliability.md` 3.5. */
export type CheckName = 'C1' | 'C2' | 'C3' | 'C4' | 'C5' | 'C6' | 'C7' | 'C8' | 'C9';

/** What a check found to be wrong. */
export interface Fault {
  readonly check: CheckName;
  readonly package: string;
  /** Which call, version or event it is about. */
  readonly operation: string;
  readonly expected: string;
  readonly found: string;
}

/** One package with everything known of it. */
export interface PackageHistory {
  readonly name: string;
  readonly calls: readonly Call[];
  readonly deeds: readonly Deed[];
  readonly final: FinalPackage;
  readonly timeline: Timeline;
  /** How long a read may lag behind what another process has answered; 0: not at all. */
  readonly lagMs: number;
}

export type Check = (history: PackageHistory) => Fault[];

/** A fault as a sentence. */
export function describeFault({ check, package: name, operation, expected, found }: Fault): string {
  return `${check}, ${name}, ${operation}: expected ${expected}; found ${found}.`;
}

/** Makes faults of one check on one package. */
export function faultsOf(check: CheckName, { name }: Pick<PackageHistory, 'name'>) {
  return (about: string | Call, expected: string, found: string): Fault => ({
    check,
    package: name,
    operation: typeof about === 'string' ? about : describeCall(about),
    expected,
    found,
  });
}

/** A version's number in words. */
export function versionText(number: number | null | undefined): string {
  return number === null || number === undefined ? 'no version' : `v${number}`;
}
