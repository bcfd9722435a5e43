import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { armFailpoints, failpoints, reach } from '../../src/core/failpoint.ts';

describe('a failpoint (reliability.md 3.6)', () => {
  it('does nothing until it is armed, then tells its name and throws what the listener throws', () => {
    reach('after lock');
    const seen: string[] = [];
    armFailpoints((point) => {
      seen.push(point);
      if (point === 'after event') throw new Error('planted');
    });
    reach('after lock');
    expect(() => reach('after event')).toThrow('planted');
    expect(seen).toEqual(['after lock', 'after event']);
  });

  it('is reached somewhere in the product, each of them', () => {
    const places = execFileSync('grep', ['-rhoE', String.raw`reach\('[^']+'\)`, 'src', 'daemon'], {
      encoding: 'utf8',
    });
    for (const point of failpoints) expect(places).toContain(`reach('${point}')`);
  });
});
