import type { Finding } from '../core/finding.ts';
import type { AttemptResult } from '../store/refreshes.ts';

/** One calm headline about a look, and below it each fault and note with its place, for a person who watches a terminal. */
export function describeLook(agentKey: string, environment: string, result: AttemptResult): string {
  const name = `${agentKey} (${environment})`;
  switch (result.outcome) {
    case 'LOADED':
    case 'UNCHANGED':
    case 'SUPERSEDED':
      return [`${name}: ${result.message}`, ...result.warnings.map(noteLine)].join('\n');
    case 'FAILED':
    case 'VALIDATION_FAILED':
    case 'REGISTRY_REJECTED': {
      // What is refused in a place says more than what is odd about it.
      const places = new Set(result.faults.map(placeOf));
      const notes = result.warnings.filter((warning) => !places.has(placeOf(warning)));
      return [
        `${name}: refused (${result.reason}); what was active stays active.`,
        ...result.faults.map(findingLine),
        ...notes.map(noteLine),
      ].join('\n');
    }
    default:
      return result.outcome satisfies never;
  }
}

/** A warning below what it is about. */
export function noteLine(warning: Finding): string {
  return `note: ${findingLine(warning)}`;
}

/** `path:line  sentence`, as far as there are any, so that an editor finds the place. */
function findingLine(finding: Finding): string {
  const { relativePath, line, message } = finding;
  if (relativePath === null) return message;
  return `${placeOf(finding)}  ${line === null ? message : message.replace(`Line ${line}: `, '')}`;
}

function placeOf({ relativePath, line }: Finding): string {
  return `${relativePath ?? ''}${line === null ? '' : `:${line}`}`;
}
