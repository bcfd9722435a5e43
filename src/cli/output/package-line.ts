import { hintAtNext } from '../advice.ts';
import type { Cli } from '../cli.ts';
import type { PackageView } from '../read-package-views.ts';
import type { PackageName, PackageRow } from '../rows.ts';
import { nameOf, pendingNumber } from '../version-names.ts';
import { packageJson } from './knowledge-json.ts';
import { printable } from './printable.ts';
import type { TextLook } from './text-look.ts';

/** How a package is named in a sentence. */
export function titleOf({ agentKey, environment }: PackageName): string {
  return printable(`${agentKey} (${environment})`);
}

/** Where a package's pointer stands and what holds it, in one line. */
export function packageLine(row: PackageRow, { paint }: TextLook): string {
  const active = nameOf(row.activeNumber);
  const pending = nameOf(pendingNumber(row));
  return [
    `${titleOf(row)}: ${active === null ? 'no version is active' : paint('good', `${active} is active`)}`,
    ...(row.hold === null ? [] : [paint('waiting', printable(holdText(row.hold)))]),
    ...(pending === null ? [] : [paint('waiting', `${pending} waits to be activated`)]),
  ].join('; ');
}

/** Who or what holds a package, and why. */
export function holdText(hold: NonNullable<PackageRow['hold']>): string {
  const by =
    hold.cause === 'OPERATOR' ? `by ${hold.actorName ?? 'an operator'}` : `(${hold.cause.toLowerCase()})`;
  return `held ${by}${hold.reason === null ? '' : `: ${hold.reason}`}`;
}

/** Prints how a package stands after a command. */
export function printPackage(cli: Cli, view: PackageView, json: true | undefined): void {
  if (json) cli.printJson(packageJson(view));
  else {
    cli.print(packageLine(view.row, cli.look));
    hintAtNext(cli, view.row);
  }
}
