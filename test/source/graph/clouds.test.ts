import { describe, expect, test } from 'vitest';
import { resolveCloud } from '../../../src/source/graph/clouds.ts';
import { downloadAddress } from '../../../src/source/graph/origins.ts';
import type { GraphPlace } from '../../../src/source/graph/graph-place.ts';

const place = (change: Partial<GraphPlace> = {}) => ({
  cloud: 'global' as const,
  baseUrl: null,
  authority: null,
  downloadHosts: [],
  ...change,
});

describe('a cloud', () => {
  test.each([
    ['global', 'https://graph.microsoft.com', 'https://login.microsoftonline.com', 'contoso.sharepoint.com'],
    ['usgov', 'https://graph.microsoft.us', 'https://login.microsoftonline.us', 'contoso.sharepoint.us'],
    [
      'usgovdod',
      'https://dod-graph.microsoft.us',
      'https://login.microsoftonline.us',
      'contoso.sharepoint-mil.us',
    ],
    [
      'china',
      'https://microsoftgraph.chinacloudapi.cn',
      'https://login.chinacloudapi.cn',
      'contoso.sharepoint.cn',
    ],
  ] as const)(
    '%s fixes root, authority, scope and where contents come from (N1)',
    (cloud, baseUrl, authority, host) => {
      const resolved = resolveCloud(place({ cloud }));
      expect(resolved).toMatchObject({ baseUrl, authority, scope: `${baseUrl}/.default` });
      const content = `https://${host}/_layouts/15/download.aspx?tempauth=x`;
      expect(downloadAddress(resolved, content, baseUrl).host).toBe(host);
      // A host of another cloud is none of this one's: the control.
      for (const other of [
        'contoso.sharepoint.com',
        'contoso.sharepoint.us',
        'contoso.sharepoint-mil.us',
        'contoso.sharepoint.cn',
      ])
        if (other !== host)
          expect(() => downloadAddress(resolved, `https://${other}/x`, baseUrl)).toThrow(/may not come/);
    },
  );

  test('of a test server has the scope of its own root, and contents from its own host', () => {
    const resolved = resolveCloud(place({ baseUrl: 'https://graph.test.example:8443' }));
    expect(resolved.scope).toBe('https://graph.test.example:8443/.default');
    const from = resolved.baseUrl;
    expect(downloadAddress(resolved, 'https://graph.test.example:9000/x', from).port).toBe('9000');
    expect(() => downloadAddress(resolved, 'https://other.example/x', from)).toThrow(/may not come/);
  });

  test('is reached over https, but for this machine itself', () => {
    expect(() => resolveCloud(place({ baseUrl: 'http://graph.test.example' }))).toThrow(/https/);
    expect(resolveCloud(place({ baseUrl: 'http://127.0.0.1:4010' })).baseUrl).toBe('http://127.0.0.1:4010');
  });
});
