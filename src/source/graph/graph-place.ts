/** How the process shows who it is; secrets are read when they are needed and never kept in a place like this. */
export type GraphCredentials =
  /** A ready access token, for trying. */
  | { readonly kind: 'token'; readonly token: string }
  /** Whatever `@azure/identity` finds in its own variables: secret, certificate, workload or managed identity. */
  | { readonly kind: 'environment' };

/** Which drive is meant. */
export type DriveReference =
  | { readonly kind: 'id'; readonly driveId: string }
  | { readonly kind: 'site'; readonly siteUrl: string; readonly library: string | null }
  /** It leads to a drive and, in it, to the folder or file that was shared. It lets in whoever has it, so it is a secret. */
  | { readonly kind: 'sharing_link'; readonly link: string };

export type CloudName = 'global' | 'usgov' | 'usgovdod' | 'china';

/** Everything the settings say about Microsoft Graph. */
export interface GraphPlace {
  readonly cloud: CloudName;
  /** Overrides of the cloud's own; null where there are none. */
  readonly baseUrl: string | null;
  readonly authority: string | null;
  /** Further hosts that contents may be downloaded from. */
  readonly downloadHosts: readonly string[];
  readonly credentials: GraphCredentials;
  /** Null where no setting names a drive: the source is inert then (K-007). */
  readonly drive: DriveReference | null;
  /** Folder below the drive's root that the registry's paths start from, segments joined by `/`; empty for the root itself. */
  readonly rootPath: string;
  readonly pollSeconds: number;
}
