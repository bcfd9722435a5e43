import { describe, expect, it } from 'vitest';
import { findSlowPass } from '../../src/core/resync-pace.ts';
import { accepted, agent, document, file } from '../support/registry-documents.ts';

/** So many agents of so many files each. */
function registryOf(agents: number, files: number, changes = {}) {
  const listed = Array.from({ length: files }, (_, index) => file(`f${index}.md`, index + 1));
  return accepted(
    document(
      Object.fromEntries(
        Array.from({ length: agents }, (_, index) => [`a${index}`, agent({ files: listed, ...changes })]),
      ),
    ),
  );
}

describe('the time that the timer of a drive needs', () => {
  it.each<[agents: number, files: number, seconds: number, least: number | null]>([
    [10, 10, 30, null],
    [27, 10, 30, null],
    [28, 10, 30, 60],
    [100, 10, 30, 120],
    [100, 10, 120, null],
    [1000, 10, 30, 1110],
    [1000, 10, 1110, null],
  ])('%d agents of %d files, each %d s: at least %s (T2)', (agents, files, resyncSeconds, least) => {
    const slow = findSlowPass(registryOf(agents, files), { resyncSeconds });
    expect(slow?.leastSeconds ?? null).toBe(least);
  });

  it('counts no disabled agent', () => {
    const pass = (changes: object) => findSlowPass(registryOf(40, 10, changes), { resyncSeconds: 30 });
    expect(pass({})).toMatchObject({ passSeconds: 44, leastSeconds: 60 });
    expect(pass({ enabled: false })).toBe(null);
  });
});
