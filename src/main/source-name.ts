import type { Settings } from '../../config/settings.ts';
import { nameOfPlace } from '../source/graph/graph-words.ts';

/** What a person knows the source by: a folder's path, or a drive and the folder in it. */
export function sourceName({ source, localPath, graph }: Settings): string {
  return source === 'local' ? localPath : nameOfPlace(graph);
}
