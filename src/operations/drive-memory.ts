import type { ItemMemory } from '../core/item-memory.ts';
import { readBlobs } from '../store/blobs.ts';
import { listDriveItems, saveDriveItems } from '../store/drive-items.ts';
import type { Context } from './context.ts';

/** What the drives' files were when their content was captured, kept in the database, so that a restart downloads nothing again. */
export function openDriveMemory({ database }: Pick<Context, 'database'>): ItemMemory {
  return {
    recall: (driveId) => database.read((queries) => listDriveItems(queries, driveId)),
    remember: (driveId, items) => database.read((queries) => saveDriveItems(queries, driveId, items)),
    readContent: async (checksum) => {
      const contents = await database.read((queries) => readBlobs(queries, [checksum]));
      return contents.get(checksum) ?? null;
    },
  };
}
