import { Child, childNames, type ChildOptions } from './child.ts';
import type { ChildMessage } from './lifetime.ts';
import { Supervisor } from './supervisor.ts';

/** About a minute and a half of attempts: one that cannot start by then needs a person. */
const maxFailures = 8;

export interface SupervisedChildOptions extends ChildOptions {
  /** Resolves when it makes sense to start it again, which a database that is away does not. */
  readonly mayStart: () => Promise<void>;
  readonly tell: (line: string) => void;
}

/**
 * Starts one of our own processes, which must come up, and starts it again whenever it ends by itself (F1, F4, F12). The
 * API comes back at the port that it told with its first words.
 */
export async function superviseChild(
  options: SupervisedChildOptions,
  signal: AbortSignal,
): Promise<{ readonly supervisor: Supervisor<Child>; readonly ready: ReadyMessage }> {
  const { child, ready } = await Child.start(options, signal);
  const env = ready.port === undefined ? {} : { AGENT_KNOWLEDGE_PORT: String(ready.port) };
  const supervisor = new Supervisor(child, {
    name: childNames[options.command],
    again: async (stopping) => {
      await Promise.race([options.mayStart(), untilAborted(stopping)]);
      return (await Child.start({ ...options, env: { ...options.env, ...env } }, stopping)).child;
    },
    tell: options.tell,
    maxFailures,
  });
  return { supervisor, ready };
}

type ReadyMessage = Extract<ChildMessage, { type: 'ready' }>;

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => resolve(), { once: true });
  await promise;
}
