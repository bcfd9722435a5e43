import type { Finding } from '../../core/finding.ts';
import { printable } from './printable.ts';
import { plainLook, type TextLook } from './text-look.ts';
import { wrap } from './wrap.ts';

/** Faults and warnings, each a line of its own or, on a terminal, as many as it needs, ready to print below what they are about. */
export function findingLines(
  found: { readonly faults: readonly Finding[]; readonly warnings: readonly Finding[] },
  look: TextLook = plainLook,
): string[] {
  return [
    ...found.faults.flatMap((fault) => linesOf('fault', fault, look)),
    ...found.warnings.flatMap((warning) => linesOf('warning', warning, look)),
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

function linesOf(kind: 'fault' | 'warning', finding: Finding, { width, paint }: TextLook): string[] {
  const place = placeOf(finding);
  const where = place === '' ? '' : ` (${place})`;
  const text = printable(`${finding.code}${where}: ${finding.message}`);
  const [first = '', ...more] = width === null ? [text] : wrap(text, Math.max(20, width - indent.length));
  const head = paint(kind === 'fault' ? 'bad' : 'waiting', kind);
  return [
    `  ${head}${' '.repeat(indent.length - 2 - kind.length)}${first}`,
    ...more.map((line) => indent + line),
  ];
}

const indent = ' '.repeat(11);
