import type { Command } from 'commander';
import { counted } from '../core/count.ts';
import { parseRegistry, type RegistryParse } from '../core/registry/registry.ts';
import type { Cli } from './cli.ts';
import { addCommand, jsonOption, type JsonOption } from './options.ts';
import { findingJson, findingLines } from './output/findings.ts';
import { printable } from './output/printable.ts';
import type { TextLook } from './output/text-look.ts';

/** `registry check`: everything that is wrong with a registry, with its place; exits with 1 for any fault. */
export function addRegistry(program: Command, cli: Cli): void {
  const registry = program.command('registry').description('the file that says what makes up each package');
  addCommand(registry, {
    use: 'check [file]',
    about: 'list every fault and warning of a registry; the one of the settings where no file is named',
    example: ['registry check', 'registry check config/agent_knowledge_registry.json --json'],
    exits: ['0 valid', '1 not valid', '64 wrong usage'],
  })
    .addOption(jsonOption())
    .action((file: string | undefined, options: JsonOption) => checkRegistry(cli, file, options));
}

async function checkRegistry(cli: Cli, file: string | undefined, options: JsonOption): Promise<void> {
  const { path, bytes } = await cli.deps.readRegistry(file);
  const parsed = parseRegistry(bytes);
  if (!parsed.ok) cli.exitCode = 1;
  if (options.json) cli.printJson(checkJson(path, parsed));
  else cli.print(...checkLines(cli.look, path, parsed));
}

function checkJson(path: string, parsed: RegistryParse) {
  const found = parsed.ok ? { faults: [], warnings: parsed.registry.warnings } : parsed;
  return {
    path,
    valid: parsed.ok,
    registryVersion: parsed.ok ? parsed.registry.registryVersion : null,
    checksum: parsed.ok ? parsed.registry.checksum : null,
    agentKeys: parsed.ok ? [...parsed.registry.agents.keys()] : [],
    faults: found.faults.map(findingJson),
    warnings: found.warnings.map(findingJson),
  };
}

function checkLines(look: TextLook, path: string, parsed: RegistryParse): string[] {
  if (!parsed.ok)
    return [`${printable(path)}: ${look.paint('bad', 'not valid')}`, ...findingLines(parsed, look)];
  const { agents, registryVersion, warnings } = parsed.registry;
  const enabled = [...agents.values()].filter((agent) => agent.enabled).length;
  return [
    `${printable(path)}: ${look.paint('good', 'valid')}, version ${printable(registryVersion)}, ${counted(agents.size, 'agent')}, ${enabled} of them enabled`,
    ...findingLines({ faults: [], warnings }, look),
  ];
}
