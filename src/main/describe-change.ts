import { printable } from '../cli/output/printable.ts';
import { counted } from '../core/count.ts';
import type { Finding } from '../core/finding.ts';
import type { Change } from '../store/changes.ts';
import type { PackageRow } from '../store/packages.ts';
import { noteLine } from './describe-look.ts';
import type { ScreenLine } from './screen-line.ts';

/** What a line about a change tells beside what the audit log says. */
export interface ChangeFacts {
  /** What holds the package, if anything does. */
  readonly hold: PackageRow['hold'];
  /** Of a new version: its files, how many of them are new or differ from the version before, and how many are gone. */
  readonly files: { readonly all: number; readonly changed: number; readonly gone: number } | null;
  readonly warnings: readonly Finding[];
}

/** One line about a change of a package, for a person who watches a terminal. `facts`: null where they are not to be had. */
export function describeChange(change: Change, facts: ChangeFacts | null): ScreenLine {
  const { agentKey, environment, knowledgeVersion, activated } = change;
  const name = `${agentKey} (${environment}): `;
  switch (change.kind) {
    case 'LOADED': {
      const state = activated ? 'is active' : `is stored and ${whyNotActive(facts)}`;
      const headline = `${name}${knowledgeVersion} ${state}${by(change)}${filesOf(facts)}.`;
      const notes = facts?.warnings.map((warning) => oneLine(noteLine(warning))) ?? [];
      return { text: [headline, ...notes].join('\n'), tone: activated ? 'good' : 'waiting' };
    }
    case 'ACTIVATED':
      return { text: `${name}${knowledgeVersion} was activated${by(change)} and is active.`, tone: 'good' };
    case 'HELD': {
      const reason = facts?.hold?.reason ?? null;
      return {
        text: `${name}held${by(change)}${reason === null ? '.' : `: ${oneLine(reason)}`}`,
        tone: 'waiting',
      };
    }
    case 'RELEASED': {
      const active = knowledgeVersion === null ? 'no version is active' : `${knowledgeVersion} is active`;
      return { text: `${name}released${by(change)}; ${active}.` };
    }
    default:
      return change.kind satisfies never;
  }
}

function whyNotActive(facts: ChangeFacts | null): string {
  return facts !== null && facts.hold !== null
    ? 'not activated, since the package is held'
    : 'waits to be activated';
}

/** Who did it, where it was a person or a program of one. */
function by({ actorRef, actorName }: Change): string {
  return actorName === null || actorRef.startsWith('daemon:') ? '' : ` by ${oneLine(actorName)}`;
}

/** What people have written must not look like a line of ours: a screen's lines end at each line feed. */
function oneLine(text: string): string {
  return printable(text.replaceAll(/\s*[\r\n]+\s*/g, ' ').trim());
}

function filesOf(facts: ChangeFacts | null): string {
  const files = facts?.files ?? null;
  if (files === null) return '';
  const { all, changed, gone } = files;
  const those = changed === all ? counted(all, 'file') : `${changed} of ${counted(all, 'file')} changed`;
  return `: ${those}${gone === 0 ? '' : `, ${gone} gone`}`;
}
