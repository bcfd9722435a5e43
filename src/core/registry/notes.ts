import type { Finding, RegistryFaultCode } from '../finding.ts';
import { quote } from '../quote.ts';

/** Where a value stands in a JSON document, from the top: keys and list positions. */
export type JsonPath = readonly (string | number)[];

/** What was noticed while one registry was read, in the order it was found. */
export interface RegistryNotes {
  readonly faults: Finding<RegistryFaultCode>[];
  readonly warnings: Finding[];
}

/** Findings kept of each kind: more than a person reads, and a bound on what 16 MiB of mistakes can cost. */
export const maxFindings = 1000;

/** Appends a finding made by `make`, unless there are `maxFindings` already. */
export function note<F extends Finding>(list: F[], make: () => F): void {
  if (list.length < maxFindings) list.push(make());
}

/** A path as a person writes it: `agents.intake_triage.files[2].relative_path`; the top is `the registry`. */
export function showPath(path: JsonPath): string {
  return path.length === 0 ? 'the registry' : path.map(showStep).join('');
}

function showStep(step: string | number, index: number): string {
  if (typeof step === 'number') return `[${step}]`;
  if (!/^[a-z_][a-z0-9_]{0,62}$/i.test(step)) return `[${quote(step)}]`;
  return index === 0 ? step : `.${step}`;
}
