import { parseRegistry } from '../../core/registry/registry.ts';
import type { CliDeps } from '../cli.ts';
import type { Names } from './suggest.ts';

/**
 * The agents that the registry's file lists and the environments of the settings: from files alone, since nobody waits
 * for a database while he types. Where the one or the other is not to be had, commands and options are completed alone:
 * a command that is run tells what is wrong.
 */
export async function readNames(deps: CliDeps): Promise<Names> {
  try {
    const { environments } = deps.policy();
    const { bytes } = await deps.readRegistry(undefined);
    const parsed = parseRegistry(bytes);
    return { agents: parsed.ok ? [...parsed.registry.agents.keys()] : [], environments };
  } catch {
    return { agents: [], environments: [] };
  }
}
