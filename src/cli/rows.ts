import type {
  readHistory,
  readManifests,
  readPackage,
  readStatuses,
  readVersion,
} from '../operations/read-knowledge.ts';
import type { readNotices } from '../operations/manage-notices.ts';
import type { readKeys } from '../operations/manage-keys.ts';
import type { requestRefresh } from '../operations/request-refresh.ts';
import type { readSessions } from '../operations/sign-in.ts';

// What the operations answer. A front door knows no store, so it takes its words for rows from the operations.

/** Names one agent in one environment. */
export type PackageName = Parameters<typeof readHistory>[1];
export type PackageRow = Awaited<ReturnType<typeof readPackage>>;
export type VersionRow = Awaited<ReturnType<typeof readVersion>>;
export type FileRow = Awaited<ReturnType<typeof readManifests>>[number];
export type SourceStatusRow = Awaited<ReturnType<typeof readStatuses>>[number];
export type RefreshRow = Awaited<ReturnType<typeof requestRefresh>>;
export type KeyRow = Awaited<ReturnType<typeof readKeys>>[number];
export type SessionRow = Awaited<ReturnType<typeof readSessions>>[number];
export type NoticeRow = Awaited<ReturnType<typeof readNotices>>[number];
