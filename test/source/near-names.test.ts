import { describe, expect, it } from 'vitest';
import { looksLikeConflictCopy } from '../../src/source/near-names.ts';

const copies = [
  'RULES-DESKTOP-7QK2ABC.md',
  'RULES-DESKTOP-7QK2ABC-2.md',
  'RULES-LAPTOP-0AB1CD2E.md',
  'RULES-WIN-4F7T0JQ2K1P.md',
  'RULES-ANNA-PC.md',
  'RULES-Annas-MacBook-Pro.md',
  'RULES-opsbox.md',
  'RULES-opsbox-safeBackup-0001.md',
  'RULES (1).md',
  'RULES(12).md',
  'RULES (opsbox).md',
  'RULES (filesrv).md',
  'RULES (DESKTOP-7QK2ABC).md',
  "RULES (OPSBOX's conflicted copy 2026-11-30).md",
  'RULES (conflicted copy 2026-11-30 104512).md',
  'RULES (Case Conflict).md',
  'RULES_conflict-20261130-104512.md',
  'RULES.sync-conflict-20261130-104512-ABCDEFG.md',
  'RULES - Copy.md',
  'RULES - Copy (2).md',
  'RULES - Kopie.md',
  'RULES - نسخة.md',
  'RULES copy.md',
  'RULES copy 2.md',
  'Copy of RULES.md',
];

const others = [
  'RULES.md',
  'RULES-v2.md',
  'RULES-2026-11.md',
  'RULES-draft.md',
  'RULES-EN.md',
  'RULES-DESKTOP.md',
  'RULES-WIN-RATES.md',
  'RULES-conflict-handling.md',
  'RULES 2.md',
  'RULES_2.md',
  'RULES (final).md',
  'RULES (v2).md',
  'RULES (2026).md',
  'RULES (en).md',
  'RULES (for the night shift).md',
  'RULES.md.bak',
  'RULES (1).txt',
  'MY RULES (1).md',
  'rules (1).md',
  'RULES INDEX.md',
  '~$RULES.md',
];

describe('a name beside RULES.md', () => {
  it.each(copies)('%s looks like a conflict copy', (name) => {
    expect(looksLikeConflictCopy('RULES.md', name, ['opsbox'])).toBe(true);
  });

  it.each(others)('%s is a name of its own', (name) => {
    expect(looksLikeConflictCopy('RULES.md', name, ['opsbox'])).toBe(false);
  });

  it('is compared whatever Unicode form the folder spells it in', () => {
    expect(looksLikeConflictCopy('café.md', 'café (1).md'.normalize('NFD'), [])).toBe(true);
  });

  it('may have no extension, or be one', () => {
    expect(looksLikeConflictCopy('LICENSE', 'LICENSE (1)', [])).toBe(true);
    expect(looksLikeConflictCopy('.rules', '.rules (1)', [])).toBe(true);
  });
});
