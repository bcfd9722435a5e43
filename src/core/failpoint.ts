/**
 * The moments at which a process may die, freeze, lose its connection or fail, and must leave the state before or the
 * state after (`reliability.md` 3.6; G6): before and after every durable step of a refresh, an activation and the log.
 */
export const failpoints = [
  'after ticket',
  'before look',
  'middle of a file',
  'between files',
  'after look',
  'before publish',
  'after blobs',
  'before lock',
  'after lock',
  'after counter',
  'after version',
  'after files',
  'after pointer',
  'after event',
  'before commit',
  'after commit',
  'after publish',
  'before job completion',
] as const;

/** The same of a notice, which neither a refresh nor an activation comes by. */
export const noticeFailpoints = ['before notice cursor', 'after notice claim', 'after notice sent'] as const;
export type Failpoint = (typeof failpoints)[number] | (typeof noticeFailpoints)[number];

let onReached: ((point: Failpoint) => void) | null = null;

/** Marks that a process has come to this moment. The product does nothing here; a test process can be armed. */
export function reach(point: Failpoint): void {
  onReached?.(point);
}

/** Has every failpoint call `listener`; what it throws is thrown at the point. For processes that tests start. */
export function armFailpoints(listener: (point: Failpoint) => void): void {
  onReached = listener;
}
