import type { DocumentNode } from 'graphql';

/** Bounds by which a cache of parsed documents stays below about two megabytes of text. */
const maxDocuments = 256;
const maxDocumentLength = 8192;

/**
 * Remembers parsed documents, the longest unused going first. A long document is not worth its memory: callers that
 * ask the same thing all day ask it in a few hundred characters.
 */
export function createDocumentCache() {
  const documents = new Map<string, DocumentNode>();
  return {
    get(text: string): DocumentNode | undefined {
      const document = documents.get(text);
      if (document) {
        documents.delete(text);
        documents.set(text, document);
      }
      return document;
    },
    set(text: string, document: DocumentNode): void {
      if (text.length > maxDocumentLength) return;
      documents.set(text, document);
      const oldest = documents.keys().next();
      if (documents.size > maxDocuments && !oldest.done) documents.delete(oldest.value);
    },
  };
}

/** A cache that keeps nothing: an error is cheap to find again, and a flood of bad documents must cost no memory. */
export const noCache = { get: () => undefined, set: () => undefined } as const;
