/// <reference lib="dom" />
// How the page shows the longer texts of a result; `client.js` gives it to GraphiQL.
(() => {
  /** @type {any} */
  const globals = self;
  globals.showTexts = showTexts;
  const texts = /** @type {HTMLDialogElement} */ (element('texts'));
  element('read').addEventListener('click', () => texts.showModal());
  element('close').addEventListener('click', () => texts.close());

  /** @type {Record<string, string>} What the lines of a comparison are, by their first character. */
  const diffClasses = { '+': 'is-new', '-': 'is-gone', '@': 'is-place' };
  let shownResult = '';

  /**
   * Offers what the result of the open tab holds of longer texts as text: in JSON a line's end is two characters among
   * others. Called with every change of the tabs, also while somebody types.
   * @param {{ tabs: { response: string | null }[], activeTabIndex: number }} state
   */
  function showTexts({ tabs, activeTabIndex }) {
    const result = tabs[activeTabIndex]?.response ?? '';
    if (result === shownResult) return;
    shownResult = result;
    const texts = [...longTexts(parse(result), '')];
    element('texts-list').replaceChildren(...texts.flatMap(textBlock));
    element('read').hidden = texts.length === 0;
  }

  /**
   * @param {any} value
   * @param {string} title
   * @returns {Generator<{ title: string, text: string, isDiff: boolean }>}
   */
  function* longTexts(value, title) {
    if (typeof value !== 'object' || value === null) return;
    const name = typeof value.relativePath === 'string' ? value.relativePath : title;
    for (const [key, inner] of Object.entries(value)) {
      if (typeof inner === 'string' && inner.includes('\n'))
        yield { title: name || key, text: inner, isDiff: key === 'unified' };
      else yield* longTexts(inner, name || key);
    }
  }

  /**
   * Text and nothing else, whatever a file may hold.
   * @param {{ title: string, text: string, isDiff: boolean }} what
   */
  function textBlock({ title, text, isDiff }) {
    const heading = document.createElement('h2');
    heading.textContent = title;
    const block = document.createElement('pre');
    for (const [index, line] of text.replace(/\n$/, '').split('\n').entries()) {
      const row = document.createElement('span');
      row.textContent = `${line}\n`;
      if (isDiff) row.className = index < 2 ? 'is-place' : (diffClasses[line[0] ?? ''] ?? '');
      block.append(row);
    }
    return [heading, block];
  }

  /** @param {string} json */
  function parse(json) {
    try {
      return JSON.parse(json);
    } catch {
      return null; // GraphiQL's own words stand there.
    }
  }

  /** @param {string} id */
  function element(id) {
    return /** @type {HTMLElement} */ (document.getElementById(id));
  }
})();
