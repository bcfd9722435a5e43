/** Where Microsoft Graph is, and who may be trusted there. All of it belongs to one cloud (N1). */
export interface GraphCloud {
  /** The root without `/v1.0` and without a slash at the end, such as `https://graph.microsoft.com`. */
  readonly baseUrl: string;
  /** The authority that gives tokens, such as `https://login.microsoftonline.com`. */
  readonly authority: string;
  /** What a token is asked for: `<graph root>/.default` of the same cloud. */
  readonly scope: string;
  /** Hosts that contents may be downloaded from: whole names, or endings that begin with a dot. */
  readonly downloadHosts: readonly string[];
}

/** One call. What it addresses is encoded already, once. */
export interface GraphCall {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** A path below `/v1.0`, with its slash; or a whole link as the service gave it, called untouched (D17). */
  readonly target: string;
  readonly body?: unknown;
  /** Resource units that it costs (T2), for the count of what was used. */
  readonly units?: number;
}

/** What came back: always a 2xx, and always readable. */
export interface GraphAnswer {
  readonly status: number;
  /** Parsed JSON; null where the answer has no body. */
  readonly body: unknown;
  readonly requestId: string | null;
  /** What the service's clock said, milliseconds; null where it said nothing. */
  readonly serverTime: number | null;
}

/** One step of a batch, always a GET: its path below `/v1.0`, with its slash, encoded. */
export interface BatchStep {
  readonly path: string;
}

/** What one step came to: its own status, after its own retries (B1). */
export interface BatchAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly requestId: string | null;
}

/** Bytes of one content, at most as many as were asked for and one more. */
export interface Downloaded {
  readonly bytes: Uint8Array;
  /** Whether the content ended there. */
  readonly whole: boolean;
}

/** What this process has asked the service for since it began. */
export interface GraphUsage {
  /** HTTP requests to the service; a batch is one. */
  readonly requests: number;
  readonly downloads: number;
  /** Resource units by the service's table (T2): each step of a batch counts. */
  readonly units: number;
}

/**
 * Microsoft Graph as far as a reader needs it: token, throttling, retries, deadlines and trusted origins are dealt with
 * here. Every method throws `GraphError`, and one after closing is of the kind `closed`.
 */
export interface Graph extends AsyncDisposable {
  readonly cloud: GraphCloud;
  readonly usage: GraphUsage;
  /** Until when the service has asked everybody to wait; null where nobody waits. */
  readonly waitsUntil: Date | null;
  call(call: GraphCall): Promise<GraphAnswer>;
  /** Any number of steps, 20 to a request; answers in the order of the steps. */
  batch(steps: readonly BatchStep[]): Promise<readonly BatchAnswer[]>;
  /** The bytes behind a path that answers with a redirect to a download address, which is fetched at once and never kept (C4). */
  download(path: string, maxBytes: number): Promise<Downloaded>;
}
