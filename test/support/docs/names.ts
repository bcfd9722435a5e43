const prefix = 'AGENT_KNOWLEDGE_';

/** The variables that a source of `config` reads, by its text: not all of their names are exported. */
export function settingsIn(source: string): Set<string> {
  const [, shape = ''] = /^(?:export )?const (?:graphS|s)hape = \{\n([\s\S]*?)^\};$/m.exec(source) ?? [];
  return new Set([...shape.matchAll(/^ {2}([A-Z_]+):/gm)].map(([, name]) => `${prefix}${name}`));
}

/** The variables that a page names in full. */
export function settingsOn(page: string): Set<string> {
  return new Set([...page.matchAll(/\bAGENT_KNOWLEDGE_[A-Z_]+\b/g)].map(([name]) => name));
}

/** The names that stand in none of these texts. */
export function unnamed(names: Iterable<string>, texts: readonly string[]): string[] {
  const all = texts.join('\n');
  return [...names].filter((name) => !new RegExp(`(?<![\\w.])${RegExp.escape(name)}(?!\\w)`).test(all));
}

/** What is written behind `agent-knowledge` in a page and is no command, such as `verisons`. */
export function unknownCommands(page: string, commands: readonly string[]): string[] {
  const known = new Set([...commands.map((name) => name.split(' ')[0]), 'help']);
  const written = [...page.matchAll(/\bnpx agent-knowledge ([a-z-]+)/g)].map(([, name = '']) => name);
  return written.filter((name) => !known.has(name) && !name.startsWith('-'));
}
