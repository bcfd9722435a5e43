import type { Registry } from './package.ts';

/**
 * Resource units a minute that the timer's looks at a drive take at most: half of what the smallest tenants allow one
 * application (T2). What is new, and what somebody asks for, finds the other half free.
 */
export const routineUnitsPerMinute = 600;

/** Resource units of the timer's look at one package: each listed file, and the root. */
export function unitsOfLook(files: number): number {
  return files + 1;
}

export interface Pace {
  readonly resyncSeconds: number;
}

export interface SlowPass {
  /** How long the timer's looks at everything take. */
  readonly passSeconds: number;
  /** The least that `AGENT_KNOWLEDGE_RESYNC_SECONDS` may be, rounded up to half minutes. */
  readonly leastSeconds: number;
  /** The first two as a sentence. */
  readonly message: string;
}

/**
 * Whether the timer of a drive comes sooner than its looks at every listed file can be through: packages then show as stale
 * though nothing is wrong. Null where the time is enough.
 */
export function findSlowPass(registry: Registry, { resyncSeconds }: Pace): SlowPass | null {
  const enabled = [...registry.agents.values()].filter((agent) => agent.enabled);
  // One look serves an agent's packages in every environment.
  const units = enabled.reduce((sum, agent) => sum + unitsOfLook(agent.files.length), 0);
  const passSeconds = Math.ceil((units * 60) / routineUnitsPerMinute);
  if (passSeconds <= resyncSeconds) return null;
  const message = `The timer's looks at every listed file take ${passSeconds} s (${routineUnitsPerMinute} resource units a minute), and are wanted each ${resyncSeconds} s.`;
  return { passSeconds, leastSeconds: Math.ceil(passSeconds / 30) * 30, message };
}
