import type { Finding } from './finding.ts';

declare const relativePathBrand: unique symbol;
declare const sha256Brand: unique symbol;

/** A path below the source's root that `parseRegistry` has accepted: `/`-separated, no way out, at most 400 characters. */
export type RelativePath = string & { readonly [relativePathBrand]: true };

/** A SHA-256 as 64 lowercase hex digits. */
export type Sha256 = string & { readonly [sha256Brand]: true };

export const sourceTypes = ['local', 'graph'] as const;
export type SourceType = (typeof sourceTypes)[number];

/** One file of a package as the registry lists it (K-020). */
export interface FileDefinition {
  readonly relativePath: RelativePath;
  /** 0 … 2,147,483,647; unique within the package; files load in ascending order (K-019). */
  readonly loadOrder: number;
  readonly required: boolean;
}

/** What the registry says about one agent: the only authority on what makes up its package (K-002). */
export interface PackageDefinition {
  readonly agentKey: string;
  readonly enabled: boolean;
  readonly agentCode: string;
  readonly stage: string;
  /** The registry's own label, such as `v01`; not a version number. */
  readonly packageVersion: string;
  /** In ascending load order, at least one, at most 200. */
  readonly files: readonly FileDefinition[];
}

/** A registry that passed every rule. */
export interface Registry {
  readonly registryVersion: string;
  /** SHA-256 of the registry's exact bytes. */
  readonly checksum: Sha256;
  readonly agents: ReadonlyMap<string, PackageDefinition>;
  readonly warnings: readonly Finding[];
}

/** One fetched file, ready to be stored: the exact bytes and their checksum. */
export interface BundleFile extends FileDefinition {
  readonly checksum: Sha256;
  readonly sizeBytes: number;
  readonly content: Uint8Array;
}

/** The fetched files of a package in load order, and the checksum over them. */
export interface Bundle {
  readonly files: readonly BundleFile[];
  readonly checksum: Sha256;
  readonly totalSizeBytes: number;
}

/** `v3` for 3: how a version is named everywhere outside the database (K-061). */
export function versionName(number: number): string {
  return `v${number}`;
}

/** 3 for `v3`; null for anything that can name no version. */
export function parseVersionName(name: string): number | null {
  const match = /^v([1-9][0-9]{0,8})$/.exec(name);
  return match ? Number(match[1]) : null;
}
