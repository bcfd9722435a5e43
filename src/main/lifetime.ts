/** One Ctrl-C reaches this process from the terminal and again from npm, which passes it on. */
const sameSignalMs = 500;

/**
 * Resolves with the reason when this process should end: a signal, or the end of the parent that started it. A second
 * signal ends it at once.
 */
export function untilAskedToStop(): Promise<string> {
  return new Promise((resolve) => {
    let askedAt: number | null = null;
    const ask = (reason: string) => {
      if (askedAt !== null && performance.now() - askedAt > sameSignalMs) process.exit(130);
      askedAt ??= performance.now();
      resolve(reason);
    };
    process.on('SIGINT', () => ask('SIGINT'));
    process.on('SIGTERM', () => ask('SIGTERM'));
    process.on('SIGHUP', () => ask('SIGHUP'));
    if (process.send) process.on('disconnect', () => ask('the parent ended'));
  });
}

/** What a child process tells the one that started it. */
export type ChildMessage =
  | { readonly type: 'ready'; readonly url?: string }
  | { readonly type: 'line'; readonly text: string };

/** Tells the parent, where there is one. */
export function tellParent(message: ChildMessage): void {
  if (process.connected) process.send?.(message);
}
