/**
 * How a round of questions ended: `well`; `failed`, to be tried again with more and more patience; `unsupported`: the drive
 * tells nobody of its changes; `off`: no drive is named, so that nothing is asked.
 */
export type PollFate = 'well' | 'failed' | 'unsupported' | 'off';

/** Milliseconds between two rounds at most while they fail. */
const mostMs = 300_000;

/** Milliseconds until a drive that does not tell of its changes is asked whether it does now. */
const probeMs = 3_600_000;

/** What is added to a wait after a failure at most, so that daemons that failed together do not ask together. */
const jitterShare = 0.25;

/** Milliseconds to the next round. `failures`: in a row, this one included; `random`: from 0 to 1. */
export function pollPauseMs(
  fate: PollFate,
  {
    pollMs,
    failures,
    random,
  }: { readonly pollMs: number; readonly failures: number; readonly random: number },
): number {
  switch (fate) {
    case 'well':
    case 'off':
      return pollMs;
    case 'unsupported':
      return probeMs;
    case 'failed': {
      const wait = Math.min(pollMs * 2 ** Math.min(failures - 1, 20), Math.max(pollMs, mostMs));
      return wait * (1 + jitterShare * random);
    }
    default:
      return fate satisfies never;
  }
}
