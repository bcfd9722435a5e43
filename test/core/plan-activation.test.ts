import { describe, expect, it } from 'vitest';
import { planActivation, type ActivationInput } from '../../src/core/plan-activation.ts';

const [anna, ben] = [1, 2];

function plan(change: Partial<ActivationInput> = {}) {
  return planActivation({
    target: { number: 1, loadedBy: anna },
    activeNumber: 3,
    held: false,
    expectedActive: null,
    hold: null,
    holdOnRollback: false,
    actorId: ben,
    secondPerson: false,
    ...change,
  });
}

describe('planning an activation', () => {
  it.each<[string, Partial<ActivationInput>, ReturnType<typeof plan>]>([
    ['an older version: back', {}, { moves: true, direction: 'back', hold: 'keep' }],
    [
      'a newer version: forward',
      { activeNumber: 1, target: { number: 2, loadedBy: anna } },
      { moves: true, direction: 'forward', hold: 'keep' },
    ],
    ['the first one: forward', { activeNumber: null }, { moves: true, direction: 'forward', hold: 'keep' }],
    [
      'the active one: nothing (G-14)',
      { activeNumber: 1 },
      { moves: false, direction: 'forward', hold: 'keep' },
    ],
    ['with hold', { hold: true }, { moves: true, direction: 'back', hold: 'set' }],
    [
      'with hold of what is held',
      { hold: true, held: true },
      { moves: true, direction: 'back', hold: 'keep' },
    ],
    [
      'with hold false of what is held',
      { hold: false, held: true },
      { moves: true, direction: 'back', hold: 'end' },
    ],
    ['with hold false of what is not', { hold: false }, { moves: true, direction: 'back', hold: 'keep' }],
    ['of what is held, saying nothing', { held: true }, { moves: true, direction: 'back', hold: 'keep' }],
    ['back with HOLD_ON_ROLLBACK', { holdOnRollback: true }, { moves: true, direction: 'back', hold: 'set' }],
    [
      'back with HOLD_ON_ROLLBACK and hold false',
      { holdOnRollback: true, hold: false },
      { moves: true, direction: 'back', hold: 'keep' },
    ],
    [
      'back with HOLD_ON_ROLLBACK of what is held',
      { holdOnRollback: true, held: true },
      { moves: true, direction: 'back', hold: 'keep' },
    ],
    [
      'forward with HOLD_ON_ROLLBACK',
      { holdOnRollback: true, activeNumber: 0 },
      { moves: true, direction: 'forward', hold: 'keep' },
    ],
    [
      'the active one with HOLD_ON_ROLLBACK',
      { holdOnRollback: true, activeNumber: 1 },
      { moves: false, direction: 'forward', hold: 'keep' },
    ],
    [
      'the active one with hold',
      { activeNumber: 1, hold: true },
      { moves: false, direction: 'forward', hold: 'set' },
    ],
  ])('%s', (_, change, expected) => {
    expect(plan(change)).toEqual(expected);
  });

  it.each<[string, string, Partial<ActivationInput>]>([
    ['another version is active than was believed', 'CONFLICT', { expectedActive: 'v2' }],
    ['the believed one is the target and another is active', 'CONFLICT', { expectedActive: 'v1' }],
    ['nothing is active', 'CONFLICT', { expectedActive: 'v1', activeNumber: null }],
    ['the belief is no version', 'BAD_USER_INPUT', { expectedActive: 'latest' }],
    ['the belief is an empty word', 'BAD_USER_INPUT', { expectedActive: '' }],
    ['the one who loaded it may not activate it', 'FORBIDDEN', { secondPerson: true, actorId: anna }],
    ['belief goes before person', 'CONFLICT', { secondPerson: true, actorId: anna, expectedActive: 'v2' }],
  ])('refuses where %s: %s', (_, code, change) => {
    expect(() => plan(change)).toThrowError(expect.objectContaining({ code }));
  });

  it('lets another person, or the right belief, through', () => {
    expect(plan({ secondPerson: true, actorId: ben }).moves).toBe(true);
    expect(plan({ secondPerson: false, actorId: anna }).moves).toBe(true);
    expect(plan({ expectedActive: 'v3' }).moves).toBe(true);
    expect(plan({ secondPerson: true, actorId: anna, activeNumber: 1 }).moves).toBe(false);
  });
});
