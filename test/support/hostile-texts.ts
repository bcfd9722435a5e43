import { checkContent } from '../../src/core/content/content-safety.ts';
import type { RelativePath } from '../../src/core/package.ts';

/** What each text tries to do where it is taken for markup: the mark by which a page knows that it ran. */
const mark = 'globalThis.hacked=(globalThis.hacked||0)+1';
const elsewhere = 'http://hostile.test';

/** Texts of files that would act if a page took them for more than text (T50). */
const candidates = [
  `<img src=x onerror="${mark}">`,
  `<svg onload="${mark}"></svg>`,
  `<details open ontoggle="${mark}">x</details>`,
  `<video><source onerror="${mark}"></video>`,
  `<audio src=x onerror="${mark}"></audio>`,
  `<input autofocus onfocus="${mark}">`,
  `<body onload="${mark}">`,
  `<math><mtext><img src=x onerror="${mark}"></mtext></math>`,
  `"><img src=x onerror="${mark}">`,
  `</pre></dialog></body><img src=x onerror="${mark}">`,
  `--><img src=x onerror="${mark}"><!--`,
  `</title></style></textarea><img src=x onerror="${mark}">`,
  `{{constructor.constructor("${mark}")()}}`,
  '${globalThis.hacked=1}',
  String.raw`\u003cimg src=x onerror="${mark}"\u003e`,
  `<style>@import '${elsewhere}/a.css'; body { background: url(${elsewhere}/b.png) }</style>`,
  `<img src="${elsewhere}/c.png">`,
  `![picture](${elsewhere}/d.png)`,
  `<link rel="stylesheet" href="${elsewhere}/e.css">`,
  `<meta http-equiv="refresh" content="0;url=${elsewhere}/f">`,
  `<base href="${elsewhere}/">`,
  `<form action="${elsewhere}/g"><button autofocus>Go</button></form>`,
  `<video poster="${elsewhere}/h.png"></video>`,
  `<marquee onstart="${mark}">x</marquee>`,
  `+<img src=x onerror="${mark}">`,
  `<a href="${elsewhere}/i" ping="${elsewhere}/j">x</a>`,
];

/** Those of them that the content rules let through, as files by path. */
export const hostileFiles: Readonly<Record<string, string>> = Object.fromEntries(
  candidates
    .map((text, index) => [`h${String(index).padStart(2, '0')}.md`, `# Notes\n\n${text}\n`] as const)
    .filter(([path, text]) => passes(path, text)),
);

function passes(path: string, text: string): boolean {
  const content = new TextEncoder().encode(text);
  const relativePath = path as RelativePath;
  return checkContent({ relativePath, content, maxFileBytes: 1_048_576 }).faults.length === 0;
}
