/**
 * Whether an output is what a page shows, apart from what differs each time: checksums, ids, times, ports, numbers of
 * versions, the width of columns. `…` in the page stands for anything within a line, and alone for any lines.
 */
export function fits(output: string, shown: string): boolean {
  const lines = steady(shown).split('\n');
  const pattern = lines
    .map((line, index) => {
      const isLast = index === lines.length - 1;
      if (line === '…') return isLast ? '[\\s\\S]*' : '(?:.*\\n)*?';
      return `${line.split('…').map(RegExp.escape).join('.*')}${isLast ? '' : '\\n'}`;
    })
    .join('');
  return new RegExp(`^${pattern}$`, 'u').test(steady(output));
}

/** A text with a word in the place of all that differs each time. */
function steady(text: string): string {
  return text
    .trim()
    .replaceAll(/\b[0-9a-f]{12}(?:[0-9a-f]*)\b…?/g, 'CHECKSUM')
    .replaceAll(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z/g, 'TIME')
    .replaceAll(/\bv[0-9]+\b/g, 'VERSION')
    .replaceAll(/(127\.0\.0\.1):[0-9]+/g, '$1:PORT')
    .replaceAll(/[ \t]+/g, ' ')
    .replaceAll(/ $/gm, '');
}
