import type { AttemptResult } from '../store/refreshes.ts';
import { describeLook } from './describe-look.ts';

/**
 * What a person who watches a terminal is told of looks: every new version; a refusal once, and once that it is over,
 * however often the timer meets it in between. Whoever asks for a refresh reads its outcome there.
 */
export class LookLines {
  /** The refusal that stands, by package. */
  readonly #refused = new Map<string, string>();

  /** The line for this look, or null where it tells nothing new. */
  lineOf(agentKey: string, environment: string, result: AttemptResult): string | null {
    const name = `${environment}/${agentKey}`;
    const line = describeLook(agentKey, environment, result);
    const refusedBefore = this.#refused.get(name);
    switch (result.outcome) {
      case 'LOADED':
        this.#refused.delete(name);
        return line;
      case 'UNCHANGED':
        this.#refused.delete(name);
        return refusedBefore === undefined ? null : `${line} What was refused is mended.`;
      case 'SUPERSEDED':
        return null;
      case 'FAILED':
      case 'VALIDATION_FAILED':
      case 'REGISTRY_REJECTED':
        this.#refused.set(name, line);
        return line === refusedBefore ? null : line;
      default:
        return result.outcome satisfies never;
    }
  }
}
