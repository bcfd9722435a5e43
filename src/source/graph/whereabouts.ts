import type { Finding } from '../../core/finding.ts';
import { quote } from '../../core/quote.ts';

// What a person is told of a listed file that is not where it was; each is a hint beside the fault that it is missing.

export function renamedHint(path: string, name: string): Finding {
  const message = `In the drive it is named ${quote(name, 255)} now: name it as before, or change the registry.`;
  return { code: 'renamed', relativePath: path, line: null, message };
}

/** `folder` and `name`: where it is now, as far as that can be read. */
export function movedHint(path: string, folder: string | null, name: string | null): Finding {
  const where = folder === null ? 'another folder' : `the folder ${quote(folder, 255)}`;
  const as = name === null || name === path.slice(path.lastIndexOf('/') + 1) ? '' : ` as ${quote(name, 255)}`;
  const message = `In the drive it was moved to ${where}${as}: move it back, or change the registry.`;
  return { code: 'moved', relativePath: path, line: null, message };
}

export function goneHint(path: string): Finding {
  const message =
    'In the drive it was deleted, or may not be seen any more: look into the recycle bin of the site, and at the permissions.';
  return { code: 'deleted', relativePath: path, line: null, message };
}
