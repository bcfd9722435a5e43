import { dirname } from 'node:path';
import type { StartedClone } from './clone.ts';
import { fits } from './fits.ts';
import { blocksOf, type Block } from './page.ts';

/** Stands before what each block prints; no output of ours holds it. */
const mark = '\u001Eblock ';

/** Where the pages say that the server is. */
const printedUrl = 'http://127.0.0.1:4000';

/**
 * Runs the blocks of a page in order, in one shell, as a reader pastes them, and answers what went otherwise than the
 * page says: a command that fails, or an output that is not the one shown. A page that says `cd agent-knowledge` begins
 * beside the clone, every other one in it.
 */
export async function runPage(clone: StartedClone, page: string, markdown: string): Promise<string[]> {
  const blocks = blocksOf(markdown).filter(({ notRun }) => notRun === null);
  const cwd = /^cd agent-knowledge\b/m.test(markdown) ? dirname(clone.folder) : clone.folder;
  const script = `exec 2>&1\n${blocks.map(scriptOf).join('')}`.replaceAll(printedUrl, clone.url);
  const { code, output } = await clone.run(script, cwd);
  const outputs = output.split(mark).slice(1).map(behindLine);
  const faults = blocks.slice(0, outputs.length).flatMap((block, index) => {
    const text = outputs[index] ?? '';
    const failed = code !== 0 && index === outputs.length - 1;
    const why = failed ? `it ended with ${code}` : whyNotAsShown(block, text);
    return why === null ? [] : [`${page}:${block.line}: ${why}\n${block.text}\n--- printed:\n${text.trim()}`];
  });
  return code !== 0 && faults.length === 0 ? [`${page}: the shell ended with ${code}\n${output}`] : faults;
}

/** One block between marks. The shell ends with the first command that fails, but where the page says so. */
function scriptOf({ line, text, exitCode }: Block): string {
  const print = `printf '\\036block %s\\n' ${line}\n`;
  if (exitCode === 0) return `${print}set -e\n${text}\n[ $? = 0 ]\n`;
  return `${print}set +e\n${text}\n[ $? = ${exitCode} ] || exit 1\n`;
}

function whyNotAsShown({ shown }: Block, output: string): string | null {
  if (shown === null || fits(output, shown)) return null;
  return `it shows\n${shown}\n--- and something else was printed`;
}

/** A text without its first line. */
function behindLine(text: string): string {
  return text.slice(text.indexOf('\n') + 1);
}
