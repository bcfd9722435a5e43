import { Migration } from '@mikro-orm/migrations';
import { roles } from '../roles.ts';
import { packages0001 } from './0001-packages.ts';
import { changeFeed0002 } from './0002-change-feed.ts';
import { browserSessions0003 } from './0003-browser-sessions.ts';
import { notices0004 } from './0004-notices.ts';
import { drives0005 } from './0005-drives.ts';

/** A migration of plain SQL, run as the role that owns the facts. */
function asOwner(sql: string) {
  return class extends Migration {
    override up(): void {
      this.addSql(`set local role ${roles.owner}; set local search_path = agent_knowledge;`);
      this.addSql(sql);
    }
  };
}

/** Every migration, in order. They go forward only; a name, once released, is never changed. */
export const migrations = [
  { name: '0001-packages', class: asOwner(packages0001) },
  { name: '0002-change-feed', class: asOwner(changeFeed0002) },
  { name: '0003-browser-sessions', class: asOwner(browserSessions0003) },
  { name: '0004-notices', class: asOwner(notices0004) },
  { name: '0005-drives', class: asOwner(drives0005) },
];
