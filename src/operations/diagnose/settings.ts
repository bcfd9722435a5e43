import { fine, trouble, warn, type Check } from '../../core/check.ts';

/** Every fault of the settings, and that nothing else could be checked without them. */
export function checkFaultySettings(faults: readonly string[]): Check[] {
  const area = 'settings';
  const notChecked = warn(
    { area, name: 'not_checked', found: 'Nothing else was checked.' },
    {
      meaning: 'Folder and database are named by the settings.',
      fix: 'Run this again when the settings are right.',
      who: 'operator',
    },
  );
  const advice = {
    meaning: 'No command that needs the settings runs.',
    fix: 'Set the variable to what is accepted, or unset it; see docs/settings.md.',
    who: 'operator',
  } as const;
  return [
    ...faults.map((fault) => trouble({ area, name: 'setting_refused', found: `${fault}.` }, advice)),
    notChecked,
  ];
}

/** Settings that passed: what is set and does nothing is worth a word, since it is mostly misspelt. */
export function checkSettings(idle: readonly string[]): Check[] {
  const area = 'settings';
  if (idle.length === 0) return [fine({ area, name: 'settings', found: 'Every setting is accepted.' })];
  return idle.map((name) =>
    warn(
      { area, name: 'setting_idle', found: `${name} is set and has no effect.` },
      {
        meaning: 'What it was set for does not happen.',
        fix: 'Correct its name, set what it belongs to, or unset it.',
        who: 'operator',
      },
    ),
  );
}
