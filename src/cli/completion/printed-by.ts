/** The lines that a library prints, which prints to the console and nowhere else. */
export function printedBy(work: () => void): string[] {
  const lines: string[] = [];
  // oxlint-disable-next-line no-console -- The library knows no other place to write to.
  const { log } = console;
  console.log = (text: string) => void lines.push(...text.split('\n'));
  try {
    work();
  } finally {
    console.log = log;
  }
  return lines;
}
