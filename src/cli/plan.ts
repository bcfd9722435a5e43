import type { Command } from 'commander';
import { counted } from '../core/count.ts';
import type { CallContext } from '../operations/context.ts';
import { resolveEnvironment } from '../operations/names.ts';
import type { RefreshPreview } from '../operations/preview-refresh.ts';
import { readPackageOf } from '../operations/read-knowledge.ts';
import { adviseOnAgent, type AskedName } from './advice.ts';
import type { Cli } from './cli.ts';
import { addCommand, environmentOption, jsonOption, type EnvironmentOption } from './options.ts';
import { findingJson, findingLines } from './output/findings.ts';
import { fileJson } from './output/knowledge-json.ts';
import { titleOf } from './output/package-line.ts';
import { printable } from './output/printable.ts';
import type { TextLook } from './output/text-look.ts';
import type { PackageName } from './rows.ts';
import { nameOf } from './version-names.ts';
import { withCall } from './with-call.ts';

interface PlanOptions extends EnvironmentOption {
  /** False for `--no-db`. */
  readonly db: boolean;
}

/** `plan`: what a refresh would do now. Exits with 0 for nothing to do, 2 for a new version, 1 for a failure. */
export function addPlan(program: Command, cli: Cli): void {
  addCommand(program, {
    use: 'plan <agent>',
    about: 'say what a refresh would do now and change nothing',
    example: ['plan intake_triage', 'plan intake_triage --no-db --json'],
    exits: ['0 nothing to do', '2 it would load', '1 it would fail', '64 wrong usage'],
  })
    .addOption(environmentOption())
    .option('--no-db', 'ask no database: every package counts as new')
    .addOption(jsonOption())
    .action((agentKey: string, options: PlanOptions) => plan(cli, agentKey, options));
}

async function plan(cli: Cli, agentKey: string, options: PlanOptions): Promise<void> {
  const { policy, planHere } = cli.deps;
  const name = { agentKey, environment: resolveEnvironment(policy(), options.env) };
  const withoutDatabase = `"npx agent-knowledge plan ${agentKey} --no-db" needs no database.`;
  const about = { agentKey, environment: options.env };
  const planFor = async (call: CallContext) => withPointer(call, name, await planHere(name, call));
  const preview = options.db
    ? await withCall(cli, async (call) => withAdvice(call, about, await planFor(call)), {
        about,
        next: { UNAVAILABLE: withoutDatabase },
      })
    : countedAsNew(await planHere(name, null));
  if (options.json) cli.printJson(previewJson(name, preview));
  else cli.print(...previewLines(cli.look, name, preview));
  cli.exitCode = exitCodeOf(preview);
}

/** Of an agent that the registry does not list it is told which one may be meant. */
async function withAdvice(
  call: CallContext,
  about: AskedName,
  preview: RefreshPreview,
): Promise<RefreshPreview> {
  if (preview.reason !== 'unknown_agent') return preview;
  const advice = await adviseOnAgent(call, about);
  const faults = preview.faults.map((fault) => ({ ...fault, message: `${fault.message} ${advice}` }));
  return { ...preview, message: faults[0]?.message ?? preview.message, faults };
}

/** Nothing new may still mean that what the source holds is not what is active. */
async function withPointer(
  call: CallContext,
  name: PackageName,
  preview: RefreshPreview,
): Promise<RefreshPreview> {
  if (preview.outcome !== 'UNCHANGED') return preview;
  const { activeNumber } = await readPackageOf(call, name);
  if (activeNumber === preview.number) return preview;
  const active = nameOf(activeNumber) ?? 'No version';
  return { ...preview, message: `${preview.message} ${active} is active; ${nameOf(preview.number)} waits.` };
}

/** Without the database every package counts as new; a person must not take the number for the next one. */
function countedAsNew(preview: RefreshPreview): RefreshPreview {
  if (preview.outcome !== 'LOADED') return preview;
  return {
    ...preview,
    message: `Counted as a new package: ${preview.message} Without the database neither the number is known nor whether it is new.`,
  };
}

function exitCodeOf({ outcome }: RefreshPreview): number {
  if (outcome === 'UNCHANGED') return 0;
  return outcome === 'LOADED' ? 2 : 1;
}

function previewJson(name: PackageName, preview: RefreshPreview) {
  return {
    agentKey: name.agentKey,
    environment: name.environment,
    outcome: preview.outcome.toLowerCase(),
    reason: preview.reason,
    message: preview.message,
    faults: preview.faults.map(findingJson),
    warnings: preview.warnings.map(findingJson),
    knowledgeVersion: nameOf(preview.number),
    checksum: preview.checksum,
    activates: preview.activates,
    files: preview.files.map(fileJson),
  };
}

function previewLines(look: TextLook, name: PackageName, preview: RefreshPreview): string[] {
  const bytes = preview.files.reduce((sum, file) => sum + file.sizeBytes, 0);
  return [
    `${titleOf(name)}: ${headline(preview)}`,
    ...findingLines(preview, look),
    ...(preview.checksum === null
      ? []
      : [`  ${counted(preview.files.length, 'file')}, ${bytes} bytes, checksum ${preview.checksum}`]),
  ];
}

function headline(preview: RefreshPreview): string {
  const { outcome, message } = preview;
  // A failure's sentence stands among its faults.
  if (outcome === 'LOADED' || outcome === 'UNCHANGED') return printable(message ?? outcome.toLowerCase());
  return `a refresh would end as ${outcome.toLowerCase()} (${preview.reason}) and change nothing.`;
}
