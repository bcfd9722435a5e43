import { execFileSync, spawnSync } from 'node:child_process';

/** The limits of inotify, as a user namespace has them for itself. */
export type InotifyLimit = 'max_inotify_watches' | 'max_inotify_instances';

/**
 * The words that run a command under a limit of its own: in a user namespace, whose limits bind nobody else on this
 * machine. The process that comes of it is the command itself.
 */
export function underLimit(limit: InotifyLimit, value: number): readonly [string, ...string[]] {
  return ['unshare', '-Ur', 'sh', '-c', `echo ${value} > ${fileOf(limit)} && exec "$@"`, 'sh'];
}

/** Gives a process that runs under a limit another one. */
export function changeLimit(processId: number, limit: InotifyLimit, value: number): void {
  const enter = ['-t', String(processId), '-U', '--preserve-credentials'];
  execFileSync('nsenter', [...enter, 'sh', '-c', `echo ${value} > ${fileOf(limit)}`]);
}

/** Whether this machine lets a test make a user namespace and set limits in it. */
export function canLimitInotify(): boolean {
  const [program, ...words] = underLimit('max_inotify_watches', 100);
  return spawnSync(program, [...words, 'true']).status === 0;
}

function fileOf(limit: InotifyLimit): string {
  return `/proc/sys/user/${limit}`;
}
