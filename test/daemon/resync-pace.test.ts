import { describe, expect, it } from 'vitest';
import { warnOfSlowPass } from '../../daemon/resync-pace.ts';
import { recordingLogger } from '../support/graphql.ts';
import { liveDrive } from '../support/live-drive.ts';
import { accepted, agent, document, file } from '../support/registry-documents.ts';

const files = Array.from({ length: 10 }, (_, index) => file(`f${index}.md`, index + 1));
const agents = Array.from({ length: 100 }, (_, index) => [`a${index}`, agent({ files })]);
const registry = accepted(document(Object.fromEntries(agents)));

describe('a daemon whose timer comes too soon', () => {
  const told = (type: 'graph' | 'local', resyncSeconds: number) => {
    const logger = recordingLogger();
    const facts = { registry, resyncSeconds };
    warnOfSlowPass(logger, { ...facts, source: { type } });
    return logger.lines.map(({ level, message }) => `${level}: ${message}`);
  };

  it('says so on a drive, with the number to set', () => {
    expect(told('graph', 30)).toEqual([
      expect.stringMatching(/^warn: .* take 110 s .* set AGENT_KNOWLEDGE_RESYNC_SECONDS to 120 or more$/),
    ]);
  });

  it('CONTROL: says nothing where the time is enough, nor on a folder', () => {
    expect([told('graph', 120), told('local', 30)]).toEqual([[], []]);
  });

  it('says it once as it starts, on a drive as it is', async () => {
    const names = Array.from({ length: 20 }, (_, index) => [`a${index}`, ['a.md']]);
    await using drive = await liveDrive({ agents: Object.fromEntries(names), resyncSeconds: 1 });
    const warnings = drive.log.filter(({ message }) => message.includes('AGENT_KNOWLEDGE_RESYNC_SECONDS'));
    expect(warnings).toMatchObject([{ level: 'warn' }]);
  });
});
