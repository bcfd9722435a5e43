/** Prints a command about one package as it can be run; the environment only where it is not the default one. */
export type PrintCommand = (
  name: { readonly agentKey: string; readonly environment: string },
  verb: string,
  more?: string,
) => string;

/** Commands for a machine with this default environment. */
export function commandsFor(defaultEnvironment: string): PrintCommand {
  return ({ agentKey, environment }, verb, more = '') => {
    const words = ['npx agent-knowledge', verb, agentKey];
    if (more !== '') words.push(more);
    if (environment !== defaultEnvironment) words.push(`--env ${environment}`);
    return `"${words.join(' ')}"`;
  };
}
