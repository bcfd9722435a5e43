import { describe, expect, test } from 'vitest';
import { loadSettings, SettingsError, type Settings } from '../../config/settings.ts';
import type { GraphPlace } from '../../src/source/graph/graph-place.ts';

const load = (variables: Record<string, string>): Settings =>
  loadSettings(
    Object.fromEntries(Object.entries(variables).map(([name, value]) => [`AGENT_KNOWLEDGE_${name}`, value])),
    '/srv',
  );

/** Of a process whose source is a drive. */
const place = (variables: Record<string, string>): GraphPlace =>
  load({ SOURCE: 'graph', ...variables }).graph;

function faultsOf(variables: Record<string, string>): readonly string[] {
  try {
    load(variables);
  } catch (error) {
    if (error instanceof SettingsError) return error.faults;
    throw error;
  }
  return [];
}

describe('settings of Microsoft Graph', () => {
  test('name no drive and no credentials by themselves, and that is no fault (K-005, K-007)', () => {
    const { source, graph, idle } = load({ SOURCE: 'graph' });
    expect({ source, graph, idle }).toEqual({
      source: 'graph',
      graph: {
        cloud: 'global',
        baseUrl: null,
        authority: null,
        downloadHosts: [],
        credentials: { kind: 'environment' },
        drive: null,
        rootPath: '',
        pollSeconds: 30,
      },
      idle: [],
    });
  });

  test('name a drive by its id, by site and library, or by a sharing link (K-098)', () => {
    expect(place({ GRAPH_DRIVE_ID: 'b!-_x' }).drive).toEqual({ kind: 'id', driveId: 'b!-_x' });
    const siteUrl = 'https://contoso.sharepoint.com/sites/agents';
    expect(place({ GRAPH_SITE_URL: `${siteUrl}/` }).drive).toEqual({ kind: 'site', siteUrl, library: null });
    expect(place({ GRAPH_SITE_URL: siteUrl, GRAPH_LIBRARY: 'Agent Files' }).drive).toEqual({
      kind: 'site',
      siteUrl,
      library: 'Agent Files',
    });
    const link = 'https://contoso.sharepoint.com/:f:/s/agents/Eabc?e=x1';
    expect(place({ GRAPH_SHARING_LINK: link }).drive).toEqual({ kind: 'sharing_link', link });
  });

  test.each([
    ['/', ''],
    ['A', 'A'],
    ['A/B', 'A/B'],
    ['/A/B/', 'A/B'],
    ['Ägent files/50% #1', 'Ägent files/50% #1'],
  ])('the folder %j is %j', (given, expected) => {
    expect(place({ GRAPH_ROOT: given }).rootPath).toBe(expected);
  });

  test('take other addresses, http on this machine alone, and hosts of contents', () => {
    const variables = {
      GRAPH_CLOUD: 'china',
      GRAPH_BASE_URL: 'http://127.0.0.1:4010/',
      GRAPH_AUTHORITY: 'http://fake.localhost:4010',
      GRAPH_TOKEN: 'a.b.c',
      GRAPH_DOWNLOAD_HOSTS: 'files.Contoso.com, .cdn.contoso.com',
      GRAPH_POLL_SECONDS: '1',
    };
    expect(place(variables)).toMatchObject({
      cloud: 'china',
      baseUrl: 'http://127.0.0.1:4010',
      authority: 'http://fake.localhost:4010',
      credentials: { kind: 'token', token: 'a.b.c' },
      downloadHosts: ['files.contoso.com', '.cdn.contoso.com'],
      pollSeconds: 1,
    });
    expect(place({ GRAPH_BASE_URL: 'https://proxy.example.org/graph/' }).baseUrl).toBe(
      'https://proxy.example.org/graph',
    );
  });

  test.each([
    ['GRAPH_DRIVE_ID', 'b!x/root'],
    ['GRAPH_ROOT', 'A/../B'],
    ['GRAPH_ROOT', 'A//B'],
    ['GRAPH_ROOT', 'A//'],
    ['GRAPH_ROOT', './A'],
    ['GRAPH_ROOT', 'A\\B'],
    ['GRAPH_ROOT', 'A:B'],
    ['GRAPH_SITE_URL', 'contoso.sharepoint.com/sites/agents'],
    ['GRAPH_SITE_URL', 'https://contoso.sharepoint.com/sites/agents?id=1'],
    ['GRAPH_SHARING_LINK', 'http://contoso.sharepoint.com/:f:/s/x'],
    ['GRAPH_CLOUD', 'germany'],
    ['GRAPH_BASE_URL', 'http://graph.microsoft.com'],
    ['GRAPH_BASE_URL', 'http://127.0.0.1.example.org'],
    ['GRAPH_BASE_URL', 'https://graph.microsoft.com/v1.0'],
    ['GRAPH_BASE_URL', 'https://graph.microsoft.com/v1.0/'],
    ['GRAPH_BASE_URL', 'https://me:word@graph.microsoft.com'],
    ['GRAPH_AUTHORITY', 'http://login.microsoftonline.com'],
    ['GRAPH_TOKEN', 'Bearer a.b.c'],
    ['GRAPH_POLL_SECONDS', '0'],
    ['GRAPH_POLL_SECONDS', '86401'],
    ['GRAPH_DOWNLOAD_HOSTS', 'https://files.contoso.com'],
    ['GRAPH_DOWNLOAD_HOSTS', '.com'],
    ['GRAPH_DOWNLOAD_HOSTS', '*.contoso.com'],
  ])('refuse %s=%s naming the variable and what is accepted', (name, value) => {
    const faults = faultsOf({ SOURCE: 'graph', [name]: value });
    expect(faults).toEqual([expect.stringMatching(new RegExp(`^AGENT_KNOWLEDGE_${name}: .*accepted: .`))]);
    expect(faults.join()).not.toContain('word@');
  });

  test('say that the root is meant without the version in it', () => {
    expect(faultsOf({ GRAPH_BASE_URL: 'https://graph.microsoft.com/v1.0' }).join()).toContain(
      'without /v1.0',
    );
  });

  test('tell at once every drive too many, a library without a site, and what else is wrong', () => {
    const names = faultsOf({
      SOURCE: 'graph',
      GRAPH_DRIVE_ID: 'b!x',
      GRAPH_SITE_URL: 'https://contoso.sharepoint.com/sites/agents',
      GRAPH_SHARING_LINK: 'https://contoso.sharepoint.com/:f:/s/x',
      GRAPH_CLOUD: 'mars',
    }).map((fault) => fault.split(':')[0]);
    expect(names).toHaveLength(3);
    expect(new Set(names)).toEqual(
      new Set(['CLOUD', 'SHARING_LINK', 'SITE_URL'].map((name) => `AGENT_KNOWLEDGE_GRAPH_${name}`)),
    );
    expect(faultsOf({ SOURCE: 'graph', GRAPH_LIBRARY: 'Documents' })).toEqual([
      'AGENT_KNOWLEDGE_GRAPH_LIBRARY: needs AGENT_KNOWLEDGE_GRAPH_SITE_URL beside it',
    ]);
  });

  test('never show a sharing link or a token, in whatever fault they stand (K-097)', () => {
    const faults = faultsOf({
      GRAPH_SHARING_LINK: 'ftp://hunter2',
      GRAPH_TOKEN: 'Bearer hunter2',
      GRAPH_AUTHORITY: 'https://me:hunter2@login.microsoftonline.com',
      GRAPH_DRIVE_ID: 'b!x',
    });
    expect(faults).toHaveLength(4);
    expect(faults.join()).not.toContain('hunter2');
    // CONTROL: a value that is no secret is shown.
    expect(faultsOf({ GRAPH_CLOUD: 'hunter2' }).join()).toContain('hunter2');
  });

  test('that the other source would use are named as idle; what serves the registry is not (K-093)', () => {
    const folder = { LOCAL_PATH: '/k', WATCH_MODE: 'sweep', SWEEP_MS: '500' };
    const drive = { GRAPH_DRIVE_ID: 'b!x', GRAPH_POLL_SECONDS: '60' };
    expect(load({ ...folder, ...drive }).idle).toEqual([
      'AGENT_KNOWLEDGE_GRAPH_DRIVE_ID (AGENT_KNOWLEDGE_SOURCE is local)',
      'AGENT_KNOWLEDGE_GRAPH_POLL_SECONDS (AGENT_KNOWLEDGE_SOURCE is local)',
    ]);
    expect(load({ SOURCE: 'graph', ...folder, ...drive }).idle).toEqual([
      'AGENT_KNOWLEDGE_LOCAL_PATH (AGENT_KNOWLEDGE_SOURCE is graph)',
    ]);
    expect(load({ SOURCE: 'graph', GRAPH_DRIVEID: 'b!x' }).idle.join()).toContain(
      'did you mean AGENT_KNOWLEDGE_GRAPH_DRIVE_ID?',
    );
  });
});
