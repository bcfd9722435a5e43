import type { AttemptResult } from '../store/refreshes.ts';
import { describeLook } from './describe-look.ts';
import type { ScreenLine } from './screen-line.ts';

/**
 * What a person who watches a terminal is told of looks: a refusal once, and once that it is over, however often the
 * timer meets it in between. New versions are told by the audit log, whoever made them. Whoever asks for a refresh reads
 * its outcome there.
 */
export class LookLines {
  /** The refusal that stands, by package. */
  readonly #refused = new Map<string, string>();

  /** The line for this look, or null where it tells nothing new. */
  lineOf(agentKey: string, environment: string, result: AttemptResult): ScreenLine | null {
    const name = `${environment}/${agentKey}`;
    const refusedBefore = this.#refused.get(name);
    switch (result.outcome) {
      case 'LOADED':
        this.#refused.delete(name);
        return null;
      case 'UNCHANGED':
        this.#refused.delete(name);
        if (refusedBefore === undefined) return null;
        return {
          text: `${agentKey} (${environment}): what was refused is mended. ${result.message}`,
          tone: 'good',
        };
      case 'SUPERSEDED':
        return null;
      case 'FAILED':
      case 'VALIDATION_FAILED':
      case 'REGISTRY_REJECTED': {
        const text = describeLook(agentKey, environment, result);
        this.#refused.set(name, text);
        return text === refusedBefore ? null : { text, tone: 'bad' };
      }
      default:
        return result.outcome satisfies never;
    }
  }
}
