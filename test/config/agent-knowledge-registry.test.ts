import { readdirSync, readFileSync, statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { accepted } from '../support/registry-documents.ts';

describe('the registry of this project', () => {
  const root = new URL('../../config/', import.meta.url);
  const registry = accepted(readFileSync(new URL('agent_knowledge_registry.json', root), 'utf8'));

  it('lists the seven agents, of which intake_triage alone is enabled (K-100)', () => {
    expect(registry.warnings).toEqual([]);
    expect([...registry.agents.values()].map(({ agentKey, enabled }) => [agentKey, enabled])).toEqual([
      ['intake_triage', true],
      ['prescreen', false],
      ['founder_response_analysis', false],
      ['screening_call_analysis', false],
      ['initial_due_diligence', false],
      ['committee_analysis', false],
      ['investment_memo', false],
    ]);
  });

  it('finds its seven files in the sample folder, and nothing else is there (K-021)', () => {
    const listed = registry.agents.get('intake_triage')?.files.map(({ relativePath }) => relativePath) ?? [];
    const sample = new URL('sample/', root);
    const present = readdirSync(sample, { recursive: true, encoding: 'utf8' })
      .map((name) => name.replaceAll('\\', '/'))
      .filter((name) => statSync(new URL(encodeURI(name), sample)).isFile());
    expect(listed).toHaveLength(7);
    expect(present.sort()).toEqual([...listed].sort());
  });
});
