import { checkAreas, checkStates, fixers, type Check, type CheckState } from '../../core/check.ts';
import { counted } from '../../core/count.ts';
import { paintPlain, type Paint, type Style } from './colour.ts';
import { wrap } from './wrap.ts';

const stateWidth = Math.max(...checkStates.map((state) => state.length));
const areaWidth = Math.max(...checkAreas.map((area) => area.length));
const indent = stateWidth + areaWidth + 4;

const stateStyles = { ok: 'good', warning: 'waiting', trouble: 'bad' } as const satisfies Record<
  CheckState,
  Style
>;

/** Each check as lines of at most `columns`: what was found, what it means, and below it the fix and who can carry it out. */
export function checkLines(checks: readonly Check[], columns: number, paint: Paint = paintPlain): string[] {
  const width = Math.max(40, columns - indent);
  return checks.flatMap((check) => {
    const { state, area, found, meaning, fix, who, agentKeys } = check;
    const agents = agentKeys.filter((key) => !found.includes(key));
    const about = agents.length === 0 ? '' : ` [${agents.join(', ')}]`;
    const [first = '', ...more] = [
      ...wrap(`${found}${about}`, width),
      ...(meaning === null ? [] : wrap(meaning, width)),
      ...(fix === null || who === null ? [] : hang(wrap(`Fix (${fixers[who]}): ${fix}`, width - 2))),
    ];
    const blanks = ' '.repeat(stateWidth - state.length);
    const head = `${paint(stateStyles[state], state)}${blanks}  ${area.padEnd(areaWidth)}  ${first}`;
    return [head, ...more.map((line) => `${' '.repeat(indent)}${line}`)];
  });
}

/** How many checks ended how, in one sentence. */
export function checkSummary(checks: readonly Check[]): string {
  const count = (state: CheckState): number => checks.filter((check) => check.state === state).length;
  const [fine, warnings, troubles] = [count('ok'), count('warning'), count('trouble')];
  return `${counted(checks.length, 'check')}: ${fine} ok, ${counted(warnings, 'warning')}, ${troubles} trouble.`;
}

/** A check as machines read it. */
export function checkJson({ area, name, state, found, meaning, fix, who, relativePath, agentKeys }: Check) {
  return { area, name, state, found, meaning, fix, who, relativePath, agentKeys };
}

function hang(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}
