import type { Finding } from '../../core/finding.ts';
import { printable } from './printable.ts';

/** Faults and warnings, one a line, ready to print below what they are about. */
export function findingLines(found: {
  readonly faults: readonly Finding[];
  readonly warnings: readonly Finding[];
}): string[] {
  return [
    ...found.faults.map((fault) => findingLine('fault', fault)),
    ...found.warnings.map((warning) => findingLine('warning', warning)),
  ];
}

/** A finding as every door shows it. */
export function findingJson({ code, relativePath, line, message }: Finding) {
  return { code, relativePath, line, message };
}

/** Where a finding was made, as far as its sentence does not say it itself; empty where it does. */
export function placeOf({ relativePath, line, message }: Finding): string {
  const path = relativePath !== null && !message.includes(relativePath) ? [relativePath] : [];
  const number = line !== null && !message.toLowerCase().includes(`line ${line}`) ? [`line ${line}`] : [];
  return [...path, ...number].join(', ');
}

function findingLine(kind: 'fault' | 'warning', finding: Finding): string {
  const place = placeOf(finding);
  const where = place === '' ? '' : ` (${place})`;
  return `  ${kind.padEnd(7)}  ${printable(`${finding.code}${where}: ${finding.message}`)}`;
}
