import type { PackageView } from '../read-package-views.ts';
import type { SourceStatusRow } from '../rows.ts';
import type { Paint } from './colour.ts';
import { printable } from './printable.ts';
import { formatTime } from './table.ts';

/** More than a person mends at once. */
const shownFaults = 10;

type Fault = SourceStatusRow['faults'][number];

/**
 * What speaks against packages, below a table of them: whom it is about, then each fault as `path:line reason since …`.
 * Packages with the same faults, as where the root or the registry is at fault, are told together.
 */
export function sourceFaultLines(views: readonly PackageView[], paint: Paint): string[] {
  const groups = Map.groupBy(
    views.flatMap(({ row, status }) => (status && status.faults.length > 0 ? [{ row, status }] : [])),
    ({ status }) => JSON.stringify([status.state, status.faults]),
  );
  return [...groups.values()].flatMap((group) => {
    const agents = group.map(({ row }) => row.agentKey);
    const [first] = group;
    return first === undefined ? [] : ['', ...groupLines(agents, first.status, paint)];
  });
}

function groupLines(agents: readonly string[], status: SourceStatusRow, paint: Paint): string[] {
  const { state, faults } = status;
  const rest = faults.length - shownFaults;
  const whose = state === 'registry_rejected' ? `The registry, for ${agents.join(', ')}` : agents.join(', ');
  return [
    `${printable(whose)}:`,
    ...faults.slice(0, shownFaults).map((fault) => faultLine(fault, status, paint)),
    ...(rest > 0 ? [`  and ${rest} more; --json shows them.`] : []),
  ];
}

function faultLine(fault: Fault, { since }: SourceStatusRow, paint: Paint): string {
  const { code, relativePath, line, message } = fault;
  const place = relativePath === null ? '' : `${relativePath}${line === null ? '' : `:${line}`} `;
  const words = `${code} since ${formatTime(since)}: ${message}`;
  return `  ${paint('place', printable(place))}${printable(words)}`;
}
