import { placedMessage } from '../core/finding.ts';
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
      const faults = result.faults.map((fault) => `\n    ${placedMessage(fault)}`).join('');
      return `${name}: refused (${result.reason}); nothing is changed.${faults}${warnings}`;
    }
    default:
      return result.outcome satisfies never;
  }
}
