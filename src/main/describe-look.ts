import type { AttemptResult } from '../store/refreshes.ts';

/** One calm line about a look, for a person who watches a terminal. */
export function describeLook(agentKey: string, environment: string, result: AttemptResult): string {
  const name = `${agentKey} (${environment})`;
  const warnings = result.warnings.map((warning) => `\n    note: ${warning.message}`).join('');
  switch (result.outcome) {
    case 'LOADED':
    case 'UNCHANGED':
    case 'SUPERSEDED':
      return `${name}: ${result.message}${warnings}`;
    case 'FAILED':
    case 'VALIDATION_FAILED':
    case 'REGISTRY_REJECTED': {
      const faults = result.faults.map((fault) => `\n    ${placed(fault)}`).join('');
      return `${name}: refused (${result.reason}); what was active stays active.${faults}${warnings}`;
    }
    default:
      return result.outcome satisfies never;
  }
}

/** The message, with the file it is about where it does not name it itself. */
function placed({ relativePath, message }: AttemptResult['faults'][number]): string {
  return relativePath === null || message.includes(relativePath) ? message : `${relativePath}: ${message}`;
}
