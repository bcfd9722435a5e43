import { posix } from 'node:path';
import { proseOf } from './page.ts';

/** Pages by their path in the project, such as `docs/graphql.md`. */
export type Pages = ReadonlyMap<string, string>;

/** Every link of these pages that leads nowhere in the project, as `page: link (why)`. Links to other places are not followed. */
export function brokenLinks(pages: Pages, isThere: (path: string) => boolean): string[] {
  return [...pages].flatMap(([page, markdown]) =>
    linksOf(markdown).flatMap((link) => {
      const why = whyBroken(pages, page, link, isThere);
      return why === null ? [] : [`${page}: ${link} (${why})`];
    }),
  );
}

/** The pages that a reader of `from` reaches with at most so many clicks. */
export function reachable(pages: Pages, from: string, clicks: number): Set<string> {
  const found = new Set([from]);
  for (let step = 0; step < clicks; step += 1) {
    const next = [...found].flatMap((page) =>
      linksOf(pages.get(page) ?? '').map((link) => targetOf(page, link).path),
    );
    for (const path of next) found.add(path);
  }
  return found;
}

function linksOf(markdown: string): string[] {
  const links = [...proseOf(markdown).matchAll(/\]\(([^()\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => !/^[a-z]+:/.test(link));
}

function whyBroken(
  pages: Pages,
  page: string,
  link: string,
  isThere: (path: string) => boolean,
): string | null {
  const { path, anchor } = targetOf(page, link);
  const target = pages.get(path);
  if (target === undefined) {
    if (anchor !== null) return 'an anchor in what is no page';
    return isThere(path) ? null : 'there is no such file';
  }
  return anchor === null || anchorsOf(target).has(anchor) ? null : 'there is no such heading';
}

function targetOf(page: string, link: string): { readonly path: string; readonly anchor: string | null } {
  const [file = '', anchor = null] = link.split('#');
  return { path: file === '' ? page : posix.join(posix.dirname(page), decodeURIComponent(file)), anchor };
}

/** What GitHub makes of headings: lower case, blanks as hyphens, nothing but letters, digits, `-` and `_`. */
function anchorsOf(markdown: string): Set<string> {
  const headings = [...proseOf(markdown).matchAll(/^#{1,6} (.+)$/gm)].map(([, text = '']) => text);
  return new Set(
    headings.map((text) =>
      text
        .toLowerCase()
        .replaceAll(/\]\([^)]*\)/g, '')
        .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
