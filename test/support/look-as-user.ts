/**
 * Looks at the files named after the user id, below the working folder, as that user (0: as who is asking), and sends
 * the look. Everything is loaded before the user changes, so that it need not be able to read this project.
 */
import { lookHere } from './source-folder.ts';

const [uid = '0', ...files] = process.argv.slice(2);
await lookHere({ root: process.cwd(), files: [] });
if (Number(uid) > 0) {
  process.setgroups?.([]);
  process.setgid?.(Number(uid));
  process.setuid?.(Number(uid));
}
// The folders above it may be closed to that user; the working folder itself is open.
process.send?.(await lookHere({ root: '.', files }));
process.disconnect();
