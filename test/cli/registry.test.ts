import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { document, file } from '../support/registry-documents.ts';
import { core, makeCliPlace, usualAgent } from './cli-place.ts';

describe('registry check', () => {
  it('of a good registry says what it is, and exits with 0', async () => {
    await using place = await makeCliPlace(null);
    expect(await place.run('registry', 'check')).toEqual({
      code: 0,
      out: `${place.registryPath}: valid, version 1.0, 1 agent, 1 of them enabled\n`,
      err: '',
    });
    expect(await place.json('registry', 'check')).toEqual({
      code: 0,
      body: {
        path: place.registryPath,
        valid: true,
        registryVersion: '1.0',
        checksum: expect.stringMatching(/^[0-9a-f]{64}$/),
        agentKeys: [place.agentKey],
        faults: [],
        warnings: [],
      },
    });
  });

  it('lists every fault and warning with its JSON path and line, and exits with 1', async () => {
    await using place = await makeCliPlace(null);
    const bad = document({
      a: usualAgent({ note: 'ours', files: [file('../x.md', 1), file(core, 1)] }),
      b: usualAgent({ enabled: 'yes' }),
    });
    const path = join(place.folder, 'bad.json');
    await writeFile(path, JSON.stringify(bad, null, 2));
    const { code, out, err } = await place.run('registry', 'check', path);
    expect({ code, err }).toEqual({ code: 1, err: '' });
    expect(out.trimEnd().split('\n')).toEqual([
      `${path}: not valid`,
      expect.stringMatching(
        /^ {2}fault {4}path_traversal \(.*line \d+\): agents\.a\.files\[0\]\.relative_path/,
      ),
      expect.stringMatching(
        /^ {2}fault {4}duplicate_load_order \(.*line \d+\): agents\.a\.files\[1\]\.load_order/,
      ),
      expect.stringMatching(/^ {2}fault {4}bad_type \(line \d+\): agents\.b\.enabled/),
      expect.stringMatching(/^ {2}warning {2}unknown_key \(line \d+\): agents\.a\.note/),
    ]);
    const { body } = await place.json('registry', 'check', path);
    expect(body).toMatchObject({
      valid: false,
      checksum: null,
      faults: [{ code: 'path_traversal', line: 11 }, {}, {}],
      warnings: [{ code: 'unknown_key' }],
    });
  });

  it('of a file that is not there is a fault, not an error', async () => {
    await using place = await makeCliPlace(null);
    const { code, body } = await place.json('registry', 'check', join(place.folder, 'none.json'));
    expect(code).toBe(1);
    expect(body).toMatchObject({ valid: false, faults: [{ code: 'registry_missing' }] });
  });

  it('of a folder says in one line what was expected', async () => {
    await using place = await makeCliPlace(null);
    const { code, out, err } = await place.run('registry', 'check', place.root);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toBe(`agent-knowledge: The registry must be a regular file: ${place.root}.\n`);
  });

  it('of a named file needs no settings', async () => {
    await using place = await makeCliPlace(null, { PORT: 'wrong' });
    expect((await place.run('registry', 'check', place.registryPath)).code).toBe(0);
  });
});
