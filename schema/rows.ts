import type { followKnowledge } from '../src/operations/follow-knowledge.ts';
import type { readAuditLog } from '../src/operations/read-audit-log.ts';
import type {
  readHistory,
  readManifests,
  readPackage,
  readStatuses,
  readVersion,
} from '../src/operations/read-knowledge.ts';
import type { requestRefresh } from '../src/operations/request-refresh.ts';

// What the operations answer and the schema's types stand on. A front door knows no store, so it takes its words for
// rows from the operations that give them.

/** Names one agent in one environment. */
export type PackageName = Parameters<typeof readHistory>[1];
export type PackageRow = Awaited<ReturnType<typeof readPackage>>;
export type HoldRow = NonNullable<PackageRow['hold']>;
export type VersionRow = Awaited<ReturnType<typeof readVersion>>;
export type FileRow = Awaited<ReturnType<typeof readManifests>>[number];
export type SourceStatusRow = Awaited<ReturnType<typeof readStatuses>>[number];
export type RefreshRow = Awaited<ReturnType<typeof requestRefresh>>;
export type EventRow = Awaited<ReturnType<typeof readAuditLog>>['rows'][number];
export type ChangeRow =
  Awaited<ReturnType<typeof followKnowledge>>['changes'] extends AsyncIterableIterator<infer Row>
    ? Row
    : never;
