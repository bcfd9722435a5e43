import { describe, expect, it } from 'vitest';
import { bundleChecksum, sha256 } from '../../src/core/checksum.ts';
import type { FileLook, PackageLook } from '../../src/core/look.ts';
import type { FileDefinition, PackageDefinition, RelativePath } from '../../src/core/package.ts';
import type { CapturePolicy, KnownPackage, KnownVersion } from '../../src/core/plan-capture.ts';
import { judgeLook, maxPackageBytes, planRefresh, type RefreshPlan } from '../../src/core/plan-refresh.ts';

const listed: readonly FileDefinition[] = [
  { relativePath: 'core.md' as RelativePath, loadOrder: 1, required: true },
  { relativePath: 'rules.md' as RelativePath, loadOrder: 5, required: true },
  { relativePath: 'extra.md' as RelativePath, loadOrder: 9, required: false },
];

const definition: PackageDefinition = {
  agentKey: 'agent',
  enabled: true,
  agentCode: 'A',
  stage: 'test',
  packageVersion: 'v01',
  files: listed,
};

const policy: CapturePolicy = {
  activate: 'auto',
  shrinkHold: true,
  acceptShrink: false,
  maxVersionsPerHour: 0,
  versionsInLastHour: 0,
};

const nothingKnown: KnownPackage = { nextNumber: 1, lastTicket: 0, held: false, active: null, newest: null };

const present = (path: string, text: string): FileLook => {
  const content = new TextEncoder().encode(text);
  return {
    state: 'present',
    relativePath: path as RelativePath,
    checksum: sha256(content),
    sizeBytes: content.length,
    content,
  };
};
const absent = (path: string): FileLook => ({
  state: 'absent',
  relativePath: path as RelativePath,
  hints: [],
});

/** Files by path; what is not named is absent. */
type Held = Readonly<Record<string, string>>;

function lookAt(held: Held, files = listed): PackageLook {
  const found = files.map(({ relativePath: path }) => {
    const text = held[path];
    return text === undefined ? absent(path) : present(path, text);
  });
  return { root: 'present', files: found, notices: [] };
}

function version(number: number, held: Held): KnownVersion {
  const { bundle } = judgeLook(definition, lookAt(held), 1_000_000);
  return { number, checksum: bundle.checksum, files: bundle.files };
}

interface Change {
  readonly known?: Partial<KnownPackage>;
  readonly policy?: Partial<CapturePolicy>;
  readonly definition?: Partial<PackageDefinition>;
  readonly ticket?: number;
}

function plan(look: PackageLook | Held, change: Change = {}): RefreshPlan {
  const defined = { ...definition, ...change.definition };
  const seen =
    'root' in look && typeof look['root'] === 'string' ? (look as PackageLook) : lookAt(look, defined.files);
  return planRefresh({
    definition: defined,
    judged: judgeLook(defined, seen, 1000),
    known: { ...nothingKnown, ...change.known },
    ticket: change.ticket ?? 1,
    policy: { ...policy, ...change.policy },
  });
}

const one: Held = { 'core.md': 'one', 'rules.md': 'rules' };
const two: Held = { 'core.md': 'two', 'rules.md': 'rules' };
const three: Held = { 'core.md': 'three', 'rules.md': 'rules' };

describe('what a look holds', () => {
  it('is a bundle of the files in load order, with the checksum of their lines (G-08)', () => {
    const loaded = plan({ ...one, 'extra.md': 'extra' });
    if (loaded.outcome !== 'LOADED') throw new Error(loaded.outcome);
    expect(loaded.bundle.files.map((file) => file.relativePath)).toEqual(['core.md', 'rules.md', 'extra.md']);
    expect(loaded.bundle.checksum).toBe(bundleChecksum(loaded.bundle.files));
    expect(loaded.bundle.totalSizeBytes).toBe(13);
  });

  it.each<[string, PackageLook | Held, Change, string, string]>([
    ['a missing required file', { 'core.md': 'one' }, {}, 'FAILED', 'missing_required'],
    ['a blank required file', { 'core.md': ' \n\t', 'rules.md': 'r' }, {}, 'FAILED', 'empty_required'],
    [
      'a required file of a byte-order mark alone',
      { 'core.md': '\ufeff', 'rules.md': 'r' },
      {},
      'FAILED',
      'empty_required',
    ],
    ['forbidden content', { ...one, 'core.md': '<iframe src=x>' }, {}, 'VALIDATION_FAILED', 'frame_markup'],
    [
      'forbidden content in an optional file',
      { ...one, 'extra.md': '<?php' },
      {},
      'VALIDATION_FAILED',
      'php_payload',
    ],
    ['a file over the limit', { ...one, 'core.md': 'x'.repeat(1001) }, {}, 'VALIDATION_FAILED', 'too_large'],
    [
      'a root that is gone',
      { root: 'trouble', code: 'root_missing', message: 'Gone.' },
      {},
      'FAILED',
      'root_missing',
    ],
    [
      'a root that is empty, which looks like an unmounted one',
      { root: 'trouble', code: 'root_empty', message: 'Empty.' },
      {},
      'FAILED',
      'root_missing',
    ],
    [
      'an agent that is not enabled (G-11)',
      one,
      { definition: { enabled: false } },
      'FAILED',
      'agent_disabled',
    ],
    [
      'only optional files, none of them there',
      {},
      { definition: { files: [listed[2]!] } },
      'FAILED',
      'empty_package',
    ],
    [
      'a single file that is too large',
      {
        root: 'present',
        notices: [],
        files: [
          {
            state: 'refused',
            relativePath: listed[2]!.relativePath,
            code: 'too_large',
            message: 'Too large.',
          },
        ],
      },
      { definition: { files: [listed[2]!] } },
      'VALIDATION_FAILED',
      'too_large',
    ],
  ])('fails for %s', (_, look, change, outcome, reason) => {
    const known = { active: version(1, one), newest: version(1, one), nextNumber: 2 };
    const failed = plan(look, { known, ...change });
    expect(failed).toMatchObject({ outcome, faults: [{ code: reason }] });
  });

  it('names every fault: files before content, each in load order', () => {
    const failed = plan({ 'core.md': '<script>', 'extra.md': '<object>' });
    if (failed.outcome !== 'FAILED') throw new Error(failed.outcome);
    expect(failed.faults.map((fault) => [fault.code, fault.relativePath])).toEqual([
      ['missing_required', 'rules.md'],
      ['script_markup', 'core.md'],
      ['object_markup', 'extra.md'],
    ]);
  });

  it('may lack an optional file, which is skipped; an empty one is skipped with a word (K-023, G-12)', () => {
    expect(plan(one)).toMatchObject({ outcome: 'LOADED', skippedOptional: ['extra.md'], warnings: [] });
    const empty = plan({ ...one, 'extra.md': '\n' });
    expect(empty).toMatchObject({ skippedOptional: ['extra.md'], warnings: [{ code: 'empty_optional' }] });
  });

  it('is refused as a whole when its files are too large together', () => {
    const files = Array.from({ length: 17 }, (_, index) => ({
      relativePath: `file-${index}.md` as RelativePath,
      loadOrder: index,
      required: true,
    }));
    const many = { ...definition, files };
    const text = 'word '.repeat(200_000);
    const held = Object.fromEntries(files.map((file) => [file.relativePath, text]));
    const judged = judgeLook(many, lookAt(held, files), 1_048_576);
    expect(judged.bundle.totalSizeBytes).toBeGreaterThan(maxPackageBytes);
    expect(judged).toMatchObject({ failed: false, faults: [{ code: 'package_too_large' }] });
  });
});

describe('what a refresh is compared with', () => {
  const rolledBack = { active: version(1, one), newest: version(3, three), nextNumber: 4 };

  it('is the active and the newest version (G-07)', () => {
    expect(plan(three, { known: rolledBack })).toMatchObject({ outcome: 'UNCHANGED', matchingNumber: 3 });
    expect(plan(one, { known: rolledBack })).toMatchObject({ outcome: 'UNCHANGED', matchingNumber: 1 });
    expect(plan(two, { known: rolledBack })).toMatchObject({ outcome: 'LOADED', number: 4, activates: true });
  });

  it('cannot be the active version alone, or a rollback is undone by the next look: the control', () => {
    const forgetful = { ...rolledBack, newest: null };
    expect(plan(three, { known: forgetful })).toMatchObject({
      outcome: 'LOADED',
      number: 4,
      activates: true,
    });
  });

  it('says nothing of flags and load-order numbers, and everything of the order (interface 6)', () => {
    const known = { active: version(1, one), newest: version(1, one), nextNumber: 2 };
    const [core, rules, extra] = listed as [FileDefinition, FileDefinition, FileDefinition];
    const renumbered = [core, { ...rules, loadOrder: 6, required: false }, extra];
    expect(plan(one, { known, definition: { files: renumbered } })).toMatchObject({ outcome: 'UNCHANGED' });
    expect(plan(one, { known, definition: { files: [rules, core, extra] } })).toMatchObject({
      outcome: 'LOADED',
    });
  });

  it('is nothing at all when a newer look has finished (G10); the control finishes', () => {
    const known = { active: version(1, one), newest: version(1, one), nextNumber: 2, lastTicket: 7 };
    for (const ticket of [6, 7]) {
      expect(plan(two, { known, ticket })).toEqual({ outcome: 'SUPERSEDED' });
      expect(plan({}, { known, ticket })).toEqual({ outcome: 'SUPERSEDED' });
    }
    expect(plan(two, { known, ticket: 8 })).toMatchObject({ outcome: 'LOADED' });
    expect(plan(two, { known: { ...known, lastTicket: 0 }, ticket: 6 })).toMatchObject({ outcome: 'LOADED' });
  });
});

describe('whether a new version becomes active', () => {
  const big = { 'core.md': 'x'.repeat(900), 'rules.md': 'x'.repeat(900), 'extra.md': 'x'.repeat(900) };
  const files = [
    ...listed,
    ...[1, 2, 3, 4].map((n) => ({
      ...listed[2]!,
      relativePath: `more-${n}.md` as RelativePath,
      loadOrder: 10 + n,
    })),
  ];
  const many = {
    ...big,
    'more-1.md': 'x'.repeat(900),
    'more-2.md': 'x'.repeat(900),
    'more-3.md': '3',
    'more-4.md': '4',
  };
  const known = (held: Held) => ({ active: versionOf(held), newest: versionOf(held), nextNumber: 2 });
  const versionOf = (held: Held): KnownVersion => {
    const { bundle } = judgeLook({ ...definition, files }, lookAt(held, files), 1000);
    return { number: 1, checksum: bundle.checksum, files: bundle.files };
  };
  const small = (held: Held) => Object.fromEntries(Object.keys(held).map((path) => [path, 'y']));

  it.each<[string, Held, Held, Change, string | null]>([
    [
      'three of seven files gone: no',
      many,
      { ...many, ...gone('more-1.md', 'more-2.md', 'more-3.md') },
      {},
      null,
    ],
    [
      'four of seven files gone: held',
      many,
      { ...many, ...gone('more-1.md', 'more-2.md', 'more-3.md', 'more-4.md') },
      {},
      'SHRANK',
    ],
    [
      'four gone, four others come: held',
      { ...many, ...gone('extra.md') },
      { ...one, 'extra.md': 'new' },
      {},
      'SHRANK',
    ],
    [
      'more than half of the bytes gone, above 4 KiB: held',
      many,
      { ...small(many), 'core.md': 'x'.repeat(900), 'rules.md': 'x'.repeat(900) },
      {},
      'SHRANK',
    ],
    [
      'half of the bytes left: no',
      { ...many, ...gone('more-3.md', 'more-4.md') },
      { ...many, 'more-1.md': 'y', 'more-2.md': 'y', ...gone('more-3.md', 'more-4.md') },
      {},
      null,
    ],
    ['nearly all bytes gone, below 4 KiB: no', big, small(big), {}, null],
    ['the loss is meant: no', many, one, { policy: { acceptShrink: true } }, null],
    ['losses are not looked at: no', many, one, { policy: { shrinkHold: false } }, null],
    [
      'five of seven files gone: held',
      many,
      { 'core.md': 'x'.repeat(900), 'rules.md': 'x'.repeat(900) },
      {},
      'SHRANK',
    ],
    [
      'five of seven files gone, which the registry lists no more: no',
      many,
      { 'core.md': 'x'.repeat(900), 'rules.md': 'x'.repeat(900) },
      { definition: { files: listed.slice(0, 2) } },
      null,
    ],
    [
      'one more than an hour allows: held',
      one,
      two,
      { policy: { maxVersionsPerHour: 3, versionsInLastHour: 3 } },
      'RATE',
    ],
    [
      'the last that an hour allows: no',
      one,
      two,
      { policy: { maxVersionsPerHour: 3, versionsInLastHour: 2 } },
      null,
    ],
    ['no limit: no', one, two, { policy: { maxVersionsPerHour: 0, versionsInLastHour: 99 } }, null],
    [
      'a loss goes before a rate',
      many,
      one,
      { policy: { maxVersionsPerHour: 1, versionsInLastHour: 9 } },
      'SHRANK',
    ],
  ])('%s', (_, before, now, change, cause) => {
    const found = plan(now, { known: known(before), definition: { files }, ...change });
    expect(found).toMatchObject({
      outcome: 'LOADED',
      activates: cause === null,
      hold: cause === null ? null : { cause },
    });
  });

  it('depends on the hold and on how the environment activates', () => {
    const before = known(one);
    expect(plan(two, { known: { ...before, held: true } })).toMatchObject({ activates: false, hold: null });
    expect(plan(two, { known: before, policy: { activate: 'manual' } })).toMatchObject({
      activates: false,
      hold: null,
    });
    expect(plan(two, { known: before })).toMatchObject({ activates: true, hold: null });
    expect(plan(one)).toMatchObject({ number: 1, activates: true });
  });
});

function gone(...paths: string[]): Record<string, never> {
  return Object.fromEntries(paths.map((path) => [path, undefined])) as unknown as Record<string, never>;
}
