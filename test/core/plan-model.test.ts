import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { sha256 } from '../../src/core/checksum.ts';
import type { FileLook, PackageLook } from '../../src/core/look.ts';
import type { FileDefinition, PackageDefinition, RelativePath } from '../../src/core/package.ts';
import { planActivation } from '../../src/core/plan-activation.ts';
import type { CapturePolicy, KnownPackage, KnownVersion } from '../../src/core/plan-capture.ts';
import { judgeLook, planRefresh } from '../../src/core/plan-refresh.ts';

/*
 * Plans against a model that fits on a page: whatever is done in whatever order, a package carried along by plans is
 * where the model says (G1, G2, G10, K-061…K-064).
 */

const long = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';
const numRuns = long ? 20_000 : 500;
if (long) vi.setConfig({ testTimeout: 600_000 });

const definition: PackageDefinition = {
  agentKey: 'agent',
  enabled: true,
  agentCode: 'A',
  stage: 'test',
  packageVersion: 'v01',
  files: [{ relativePath: 'core.md' as RelativePath, loadOrder: 1, required: true }],
};

const policy: CapturePolicy = {
  activate: 'auto',
  shrinkHold: true,
  acceptShrink: false,
  maxVersionsPerHour: 0,
  versionsInLastHour: 0,
};

function lookAt(text: string | null): PackageLook {
  const relativePath = 'core.md' as RelativePath;
  if (text === null)
    return { root: 'present', files: [{ state: 'absent', relativePath, hints: [] }], notices: [] };
  const content = new TextEncoder().encode(text);
  const file = {
    state: 'present',
    relativePath,
    checksum: sha256(content),
    sizeBytes: content.length,
    content,
  } as const;
  return { root: 'present', files: [file], notices: [] };
}

/** A package, as an operation would carry out the plans. */
class PlannedPackage {
  readonly versions: KnownVersion[] = [];
  active: number | null = null;
  generation = 0;
  held = false;
  lastTicket = 0;

  refresh(ticket: number, text: string | null): string {
    const known: KnownPackage = {
      nextNumber: this.versions.length + 1,
      lastTicket: this.lastTicket,
      held: this.held,
      active: this.active === null ? null : this.versions[this.active - 1]!,
      newest: this.versions.at(-1) ?? null,
    };
    const judged = judgeLook(definition, lookAt(text), 1000);
    const plan = planRefresh({ definition, judged, known, ticket, policy });
    if (plan.outcome !== 'SUPERSEDED') this.lastTicket = ticket;
    if (plan.outcome !== 'LOADED') return plan.outcome;
    this.versions.push({ number: plan.number, checksum: plan.bundle.checksum, files: plan.bundle.files });
    if (plan.activates) this.#move(plan.number);
    return plan.outcome;
  }

  activate(number: number, hold: boolean | null): void {
    const target = { number, loadedBy: 1 };
    const rules = { holdOnRollback: false, actorId: 1, secondPerson: false, expectedActive: null };
    const plan = planActivation({ target, activeNumber: this.active, held: this.held, hold, ...rules });
    if (plan.moves) this.#move(number);
    if (plan.hold !== 'keep') this.held = plan.hold === 'set';
  }

  #move(number: number): void {
    this.active = number;
    this.generation += 1;
  }
}

/** What the contract says, in the fewest words. */
class Model {
  readonly contents: string[] = [];
  active: number | null = null;
  moves = 0;
  held = false;
  lastTicket = 0;

  refresh(ticket: number, text: string | null): string {
    if (ticket <= this.lastTicket) return 'SUPERSEDED';
    this.lastTicket = ticket;
    if (text === null) return 'FAILED';
    if (text === this.contents.at(-1) || (this.active !== null && text === this.contents[this.active - 1])) {
      return 'UNCHANGED';
    }
    this.contents.push(text);
    if (!this.held) this.point(this.contents.length);
    return 'LOADED';
  }

  point(number: number): void {
    if (this.active !== number) this.moves += 1;
    this.active = number;
  }
}

type Step = (system: PlannedPackage, model: Model, tickets: number[]) => void;

/** Draws a ticket for a look that some later step finishes. */
const open: Step = (_system, _model, tickets) => {
  tickets.push(Math.max(0, ...tickets) + 1);
};

const finish = (at: number, text: string | null): Step => {
  return (system, model, tickets) => {
    const ticket = tickets[at % Math.max(1, tickets.length)];
    if (ticket === undefined) return;
    const before = { active: system.active, held: system.held, count: system.versions.length };
    const outcome = system.refresh(ticket, text);
    expect(outcome).toBe(model.refresh(ticket, text));
    if (before.held || outcome !== 'LOADED') expect(system.active).toBe(before.active);
    expect(system.versions.length - before.count).toBe(outcome === 'LOADED' ? 1 : 0);
  };
};

const activate = (at: number, hold: boolean | null): Step => {
  return (system, model) => {
    if (model.contents.length === 0) return;
    const number = 1 + (at % model.contents.length);
    system.activate(number, hold);
    model.point(number);
    model.held = hold ?? model.held;
  };
};

const setHold = (held: boolean): Step => {
  return (system, model) => {
    system.held = held;
    model.held = held;
  };
};

const text = fc.option(fc.constantFrom('a', 'b', 'c'), { nil: null, freq: 8 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(open) },
  { weight: 6, arbitrary: fc.tuple(fc.nat(9), text).map(([at, content]) => finish(at, content)) },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.nat(9), fc.option(fc.boolean())).map(([at, hold]) => activate(at, hold)),
  },
  { weight: 1, arbitrary: fc.boolean().map(setHold) },
);

describe('a package carried along by plans', () => {
  it('is where the model says after any steps in any order', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const [system, model, tickets] = [new PlannedPackage(), new Model(), []];
        for (const take of steps) {
          take(system, model, tickets);
          expect(system.versions.map((version) => version.number)).toEqual(
            model.contents.map((_, index) => index + 1),
          );
          expect([system.active, system.generation, system.held, system.lastTicket]).toEqual([
            model.active,
            model.moves,
            model.held,
            model.lastTicket,
          ]);
        }
      }),
      { numRuns },
    );
  });
});

const anyPath = fc.constantFrom('core.md', 'b.md', 'c/d.md', 'é.md').map((path) => path as RelativePath);
const anyContent = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 20 }).map((written) => new TextEncoder().encode(written)),
  fc
    .constantFrom('', '\ufeff', '<script>', 'MZ', '#!/bin/sh', '\0', '\u202e')
    .map((written) => new TextEncoder().encode(written)),
);
const anyFile: fc.Arbitrary<FileLook> = fc.oneof(
  fc.tuple(anyPath, anyContent).map(([relativePath, content]) => ({
    state: 'present' as const,
    relativePath,
    checksum: sha256(content),
    sizeBytes: content.length,
    content,
  })),
  anyPath.map((relativePath) => ({ state: 'absent' as const, relativePath, hints: [] })),
  fc
    .tuple(
      anyPath,
      fc.constantFrom('not_regular_file', 'path_escapes_root', 'unreadable', 'not_downloaded', 'too_large'),
    )
    .map(([relativePath, code]) => ({ state: 'refused' as const, relativePath, code, message: 'No.' })),
);
const anyLook: fc.Arbitrary<PackageLook> = fc.oneof(
  fc.array(anyFile, { maxLength: 5 }).map((files) => ({ root: 'present' as const, files, notices: [] })),
  fc
    .constantFrom('root_missing', 'root_empty', 'unreadable')
    .map((code) => ({ root: 'trouble' as const, code, message: 'No.' })),
);
const anyFiles: fc.Arbitrary<FileDefinition[]> = fc.uniqueArray(
  fc.record({ relativePath: anyPath, loadOrder: fc.nat(), required: fc.boolean() }),
  { minLength: 1, maxLength: 4, selector: (file) => file.relativePath },
);

describe('a plan', () => {
  it('is made for any look whatever, the same one twice, and its bundle keeps the registry’s order', () => {
    fc.assert(
      fc.property(anyFiles, anyLook, fc.boolean(), fc.nat(3), (files, look, enabled, ticket) => {
        const make = () =>
          planRefresh({
            definition: { ...definition, enabled, files },
            judged: judgeLook({ ...definition, enabled, files }, look, 30),
            known: { nextNumber: 1, lastTicket: 1, held: false, active: null, newest: null },
            ticket,
            policy,
          });
        const plan = make();
        expect(make()).toEqual(plan);
        if (ticket <= 1) expect(plan.outcome).toBe('SUPERSEDED');
        if (plan.outcome !== 'LOADED') return;
        const paths = files.map((file) => file.relativePath);
        const loaded = plan.bundle.files.map((file) => file.relativePath);
        expect(loaded).toEqual(paths.filter((path) => loaded.includes(path)));
        expect(loaded.length).toBeGreaterThan(0);
        for (const file of files) if (file.required) expect(loaded).toContain(file.relativePath);
      }),
      { numRuns: numRuns * 4 },
    );
  });
});
