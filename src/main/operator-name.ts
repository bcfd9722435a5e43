import { userInfo } from 'node:os';

/** The operating system's name for who runs this process. */
export function operatorName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`; // A user without an entry in the user database has no name.
  }
}
