import { expect, test } from 'vitest';
import { faultsMessage, type Finding } from '../../src/core/finding.ts';

const finding = (code: Finding['code'], relativePath: string | null, message: string): Finding => {
  return { code, relativePath, line: null, message };
};
const markup = finding('script_markup', 'a/rules.md', 'Line 34: "<script" in the text.');
const missing = finding('missing_required', 'a/NOTE.md', 'Required file not found: a/NOTE.md.');
const near = finding('name_differs_by_case', 'a/NOTE.md', 'The folder has "Note.md".');

test('what speaks against a package names its file, what looks like it, and how much more there is', () => {
  expect(faultsMessage([markup])).toBe('a/rules.md: Line 34: "<script" in the text.');
  expect(faultsMessage([missing])).toBe('Required file not found: a/NOTE.md.');
  expect(faultsMessage([missing, markup], [near])).toBe(
    'Required file not found: a/NOTE.md. The folder has "Note.md". (and 1 more)',
  );
  expect(faultsMessage([markup], [near])).not.toContain('Note.md');
});
