/** How one question to the service ended; a sentence of it never holds a token, a download address or a file's body. */
export type Asked<Answer> =
  | { readonly state: 'answered'; readonly answer: Answer }
  | ({ readonly state: 'refused' } & Refusal)
  /** What comes before it failed already. */
  | { readonly state: 'not_asked' };

export interface Refusal {
  /** The kind of trouble, as the driver names it; `no_answer` where the doctor's own patience ended. */
  readonly trouble: string;
  readonly message: string;
  readonly status: number | null;
  /** The outermost first. */
  readonly codes: readonly string[];
  readonly requestId: string | null;
}

/** What an access token says of itself. It is read, not verified: that is the service's business. */
export interface TokenFacts {
  /** False for a token that only the service can read, which is no fault. */
  readonly isReadable: boolean;
  /** Permissions of the application and of a signed-in person, in the token's order. */
  readonly permissions: readonly string[];
  readonly expiresAt: Date | null;
}

/** The listed file that was read for trial. */
export interface ContentFacts {
  readonly path: string;
  readonly sizeBytes: number;
  /** Whether length and hash are what the drive says; null where it says neither. */
  readonly isAsReported: boolean | null;
}

/** What the service says of a drive, question by question (P1). */
export interface DriveSurvey {
  readonly token: Asked<TokenFacts>;
  /** Which drive the settings mean. */
  readonly place: Asked<{ readonly driveId: string; readonly rootPath: string }>;
  readonly drive: Asked<{ readonly name: string | null; readonly type: string | null }>;
  readonly root: Asked<{ readonly kind: 'file' | 'folder' | 'other' | 'unknown' }>;
  readonly changes: Asked<null>;
  /** Null where none of the listed files is there. */
  readonly content: Asked<ContentFacts | null>;
  /** How far the service's clock is ahead of this machine's, milliseconds; null where it did not say. */
  readonly clockAheadMs: number | null;
}
