/** A command block of a page, as its reader pastes it. */
export interface Block {
  /** Line of its first command, from 1. */
  readonly line: number;
  readonly text: string;
  /** Why the test does not run it; null: it does. */
  readonly notRun: string | null;
  /** The exit code that the page promises. */
  readonly exitCode: number;
  /** The output that the page shows for it; null: none. */
  readonly shown: string | null;
}

/** Comments before a block, which no reader sees. */
const notRunMark = /^<!-- not run: (.+) -->$/;
const exitMark = /^<!-- exits with ([0-9]+) -->$/;

/** The `sh` blocks of a page in order, each with what is said of it: marks right before it, and a `text` block right behind. */
export function blocksOf(markdown: string): Block[] {
  const fences = fencesOf(markdown);
  return fences.flatMap((fence, index) => {
    if (fence.language !== 'sh') return [];
    const next = fences[index + 1];
    const isShown = next?.language === 'text' && next.before.trim() === '';
    const mark = fence.before.trimEnd().split('\n').at(-1) ?? '';
    return [
      {
        line: fence.line,
        text: fence.text,
        notRun: notRunMark.exec(mark)?.[1] ?? null,
        exitCode: Number(exitMark.exec(mark)?.[1] ?? 0),
        shown: isShown ? next.text : null,
      },
    ];
  });
}

interface Fence {
  readonly language: string;
  readonly line: number;
  readonly text: string;
  /** What stands between the fence before and this one. */
  readonly before: string;
}

function fencesOf(markdown: string): Fence[] {
  const fences: Fence[] = [];
  let end = 0;
  for (const match of markdown.matchAll(/^```([a-z]*)\n([\s\S]*?)^```$/gm)) {
    const [whole, language = '', text = ''] = match;
    const line = markdown.slice(0, match.index).split('\n').length + 1;
    fences.push({ language, line, text: text.trimEnd(), before: markdown.slice(end, match.index) });
    end = match.index + whole.length;
  }
  return fences;
}

/** The page without its blocks and comments: what a reader reads as sentences. */
export function proseOf(markdown: string): string {
  return markdown.replaceAll(/^```[\s\S]*?^```$/gm, '').replaceAll(/<!--[\s\S]*?-->/g, '');
}
