import type { ElementHandle, Page } from 'puppeteer-core';
import { eventually } from './processes.ts';

/** The page with GraphiQL, as a person works with it. */
export interface GraphiqlDriver {
  readonly page: Page;
  /** The tabs by name, in their order. */
  tabs(): Promise<string[]>;
  /** Opens a tab. */
  openTab(name: string): Promise<void>;
  /** Presses the play button (or stops what runs). */
  play(): Promise<void>;
  /** Replaces what stands under Variables. */
  setVariables(values: Readonly<Record<string, unknown>>): Promise<void>;
  variables(): Promise<string>;
  /** What the right side shows, once it matches. */
  result(pattern: RegExp): Promise<string>;
  /** The longer texts of the result, by the button for them. */
  readTexts(): Promise<string>;
}

/** Waits until the page is ready to be worked with. */
export async function driveGraphiql(page: Page): Promise<GraphiqlDriver> {
  await page.waitForSelector('.graphiql-execute-button', { timeout: 60_000 });
  // The editors are there when their texts are, and the schema when the docs can be opened.
  await page.waitForFunction(
    () => {
      const { monaco } = window as unknown as Editors;
      return monaco.editor.getModels().length >= 3 && document.querySelector('.graphiql-spinner') === null;
    },
    { timeout: 60_000 },
  );
  return {
    page,
    tabs: () =>
      page.$$eval('.graphiql-tab-button', (buttons) => buttons.map((button) => button.textContent ?? '')),
    async openTab(name) {
      const buttons = await page.$$('.graphiql-tab-button');
      for (const button of buttons) {
        if ((await button.evaluate((element) => element.textContent)) !== name) continue;
        await clickSlowly(page, button);
        await eventually(
          () => textOf(page, 'operation'),
          (text) => text.includes(` ${name}(`),
        );
        return;
      }
      throw new Error(`No tab ${name}.`);
    },
    play: () => page.click('.graphiql-execute-button'),
    async setVariables(values) {
      await page.evaluate(
        (text) => {
          const { monaco } = window as unknown as Editors;
          monaco.editor
            .getModels()
            .find(({ uri }) => uri.path.endsWith('variables.json'))
            ?.setValue(text);
        },
        JSON.stringify(values, null, 2),
      );
    },
    variables: () => textOf(page, 'variables'),
    async result(pattern) {
      const text = await eventually(
        () => textOf(page, 'response'),
        (found) => pattern.test(found),
        30_000,
      );
      // Not only known to the editor but on the screen.
      await page.waitForFunction(
        () => (document.querySelector('.graphiql-response')?.textContent ?? '').trim() !== '',
      );
      return text;
    },
    async readTexts() {
      await page.waitForSelector('#read:not([hidden])');
      await page.click('#read');
      await page.waitForSelector('#texts[open]');
      const text = await page.$eval('#texts-list', (list) => list.textContent ?? '');
      await page.click('#close');
      return text;
    },
  };
}

/** As a hand does it, which holds the button down for a moment. */
async function clickSlowly(page: Page, element: ElementHandle): Promise<void> {
  const { x, y } = await element.clickablePoint();
  await page.mouse.move(x, y);
  await page.mouse.down();
  await new Promise((resolve) => setTimeout(resolve, 90));
  await page.mouse.up();
}

interface Editors {
  readonly monaco: {
    readonly editor: {
      getModels(): {
        readonly uri: { readonly path: string };
        getValue(): string;
        setValue(text: string): void;
      }[];
    };
  };
}

/** What stands in one of the editors. */
function textOf(page: Page, editor: 'operation' | 'variables' | 'response'): Promise<string> {
  return page.evaluate((name) => {
    const { monaco } = window as unknown as Editors;
    return (
      monaco.editor
        .getModels()
        .find(({ uri }) => uri.path.includes(name))
        ?.getValue() ?? ''
    );
  }, editor);
}
