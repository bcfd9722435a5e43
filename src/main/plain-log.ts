/** A line of a part's log as a person reads it: the message of a structured one, every other as it is. */
export function plainLine(line: string): string {
  try {
    const { message } = JSON.parse(line) as { message?: unknown };
    return typeof message === 'string' ? message : line;
  } catch {
    return line; // The last words of a process that ends are no JSON.
  }
}
