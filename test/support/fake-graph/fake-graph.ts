import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { Content } from './content.ts';
import { Delta } from './delta.ts';
import { Faults, type Fault } from './faults.ts';
import { front, isWrite, requestOf, statusOf } from './front.ts';
import type { DriveFacts } from './item-json.ts';
import { ItemTree } from './item-tree.ts';
import { listen, type Certificate, type FakeRequest } from './listener.ts';
import type { Asked } from './reply.ts';
import type { Routes } from './routes.ts';
import { Subscriptions } from './subscriptions.ts';
import { Tokens } from './tokens.ts';

export interface FakeGraphOptions {
  /** The folder that is the drive. */
  readonly root: string;
  /** 0, the default, picks a free one. */
  readonly port?: number;
  /** True: with a certificate made now for this machine's loopback names. */
  readonly https?: boolean | Certificate;
  /** The ready token; default a random one. */
  readonly token?: string;
  /** Items in a page of changes or children; default 100. */
  readonly pageSize?: number;
  readonly driveType?: string;
  /** How old what is known of the folder may be: a large one takes long to compare; default 0. */
  readonly scanEveryMs?: number;
  /** How long a download address is good for; default 60 s. */
  readonly addressMs?: number;
  /** The real service notifies https addresses only. */
  readonly allowHttpNotifications?: boolean;
  /** Path of the folder that the sharing link shares; default the root. */
  readonly sharedPath?: string;
}

/** A stand-in for Microsoft Graph, its authority and its host of contents, over a real folder. */
export interface FakeGraph extends AsyncDisposable {
  /** The root, without `/v1.0`. */
  readonly url: string;
  readonly authority: string;
  readonly contentUrl: string;
  readonly driveId: string;
  readonly siteUrl: string;
  readonly libraryName: string;
  readonly sharingLink: string;
  readonly token: string;
  readonly tenantId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** What a client must trust, as PEM; null over http. */
  readonly certificate: string | null;
  readonly tree: ItemTree;
  /** Everything asked so far, steps of batches included. */
  readonly requests: readonly FakeRequest[];
  /** Requests that would have changed the drive. */
  readonly writes: readonly FakeRequest[];
  readonly subscriptions: Subscriptions;
  /** Downloads of contents so far. */
  readonly downloads: readonly FakeRequest[];
  forget(): void;
  /** Settings that lead here: with the ready token, or with the app's credentials. */
  environment(credentials?: 'token' | 'app'): Record<string, string>;
  fault(fault: Fault): () => void;
  clearFaults(): void;
  /** Every link of the feed given so far answers 410. */
  expireLinks(): void;
  expireAddresses(): void;
  expireTokens(): () => void;
  revoke(): () => void;
}

/** Starts it on loopback. What the folder holds is read at each request. */
export async function startFakeGraph(options: FakeGraphOptions): Promise<FakeGraph> {
  await using stack = new AsyncDisposableStack();
  const certificate = await certificateOf(options.https ?? false);
  const faults = new Faults();
  const tree = new ItemTree(options.root, options.scanEveryMs);
  const content = new Content(tree, faults, options.addressMs ?? 60_000);
  const app = {
    tenantId: randomUUID(),
    clientId: randomUUID(),
    clientSecret: randomBytes(24).toString('base64url'),
  };
  const tokens = new Tokens(app);
  const token = tokens.issue(24 * 3600, options.token ?? randomBytes(24).toString('base64url'));
  const requests: FakeRequest[] = [];
  const onAnswered = (asked: Asked, status: number) => void requests.push(requestOf(asked, status));
  const common = { host: certificate === null ? '127.0.0.1' : 'localhost', certificate, faults, onAnswered };
  const contents = stack.use(
    await listen({
      ...common,
      port: 0,
      readAsked: (request) => ({
        ...request,
        origin: 'content',
        batched: false,
        subject: content.subjectOf(request.path),
      }),
      answer: async (asked) => statusOf({ faults, routes }, asked) ?? content.answer(asked),
    }),
  );
  content.origin = contents.origin;
  // The same folder is the same drive, also of another stand-in.
  const driveId = `b!${createHash('sha384').update(tree.rootId).digest('base64url')}`;
  const drive: DriveFacts = {
    tree,
    faults,
    driveId,
    driveType: options.driveType ?? 'documentLibrary',
    webUrl: 'https://contoso.sharepoint.example/sites/agents/Documents',
    downloadUrl: (item) => content.urlOf(item),
  };
  const sharingLink = `https://contoso.sharepoint.example/:f:/s/agents/${randomBytes(24).toString('base64url')}?e=x`;
  const subscriptions = new Subscriptions(app.tenantId, options.allowHttpNotifications ?? false);
  const pageSize = options.pageSize ?? 100;
  let url = '';
  const delta = new Delta(drive, () => `${url}/v1.0/drives/${driveId}`, pageSize);
  const site = { siteHost: 'contoso.sharepoint.example', sitePath: '/sites/agents' };
  const place = {
    ...site,
    siteId: `${site.siteHost},${randomUUID()},${randomUUID()}`,
    libraryName: 'Documents',
  };
  const routes: Routes = {
    drive,
    delta,
    content,
    subscriptions,
    pageSize,
    place: { ...place, sharingLink, sharedPath: options.sharedPath ?? '' },
    url: () => `${url}/v1.0`,
  };
  const parts = { routes, faults, tokens, requests, onAnswered };
  const graph = stack.use(await listen({ ...common, port: options.port ?? 0, ...front(parts) }));
  url = graph.origin;
  tokens.url = url;
  const opened = stack.move();
  return {
    url,
    authority: url,
    contentUrl: contents.origin,
    driveId,
    siteUrl: `https://${site.siteHost}${site.sitePath}`,
    libraryName: place.libraryName,
    sharingLink,
    token,
    ...app,
    certificate: certificate?.cert ?? null,
    tree,
    requests,
    get writes() {
      return requests.filter(isWrite);
    },
    get downloads() {
      return requests.filter(({ origin, status }) => origin === 'content' && status === 200);
    },
    subscriptions,
    forget: () => void requests.splice(0),
    environment: (credentials = 'token') => ({
      AGENT_KNOWLEDGE_SOURCE: 'graph',
      AGENT_KNOWLEDGE_GRAPH_BASE_URL: url,
      AGENT_KNOWLEDGE_GRAPH_DRIVE_ID: driveId,
      ...(credentials === 'token'
        ? { AGENT_KNOWLEDGE_GRAPH_TOKEN: token }
        : {
            AGENT_KNOWLEDGE_GRAPH_AUTHORITY: url,
            AZURE_TENANT_ID: app.tenantId,
            AZURE_CLIENT_ID: app.clientId,
            AZURE_CLIENT_SECRET: app.clientSecret,
          }),
    }),
    fault: (fault) => faults.plant(fault),
    clearFaults: () => faults.clear(),
    expireLinks: () => delta.expire(),
    expireAddresses: () => content.expire(),
    expireTokens: () => tokens.expire(),
    revoke: () => tokens.revoke(),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function certificateOf(https: boolean | Certificate): Promise<Certificate | null> {
  if (typeof https === 'object') return https;
  if (!https) return null;
  const { makeCertificate } = await import('./certificate.ts');
  return makeCertificate();
}
