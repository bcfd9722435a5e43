import { messageOf } from '../../src/core/errors.ts';
/**
 * What an error of a watcher means, as a sentence that says what to do about it. Node tells of used-up inotify limits
 * with words about disks and files, which send people looking in the wrong place (W12, W13).
 */
export function describeTrouble(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOSPC') {
    return 'The system gives no more file watches (ENOSPC); raise its limit, on Linux fs.inotify.max_user_watches.';
  }
  if (code === 'EMFILE' || code === 'ENFILE') {
    return `The system gives no more watchers (${code}); raise its limits, on Linux fs.inotify.max_user_instances, or the number of open files.`;
  }
  return `The watcher failed: ${messageOf(error)}`;
}
