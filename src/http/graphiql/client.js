/// <reference lib="dom" />
// What the page runs besides GraphiQL itself. It shares one inline script with it, whose hash the page's policy names,
// so nothing here differs from one session to another: what does is asked for.
(() => {
  /** @type {any} What GraphiQL's own text leaves behind. */
  const globals = self;
  const preflight = { 'x-graphql-preflight': '1' };
  /** @type {Settings} */
  let settings;
  let hasEnded = false;

  /**
   * @typedef {{ query: string, variables: string }} Tab
   * @typedef {{ csrfToken: string | null, name: string | null, expiresAt: string | null, rights: string, tabs: Tab[] }} Settings
   * @typedef {{ query: string, variables?: unknown, operationName?: string | null | undefined }} Params
   * @typedef {{ headers?: Record<string, string> }} Asking
   */

  /** @type {Record<string, string>} */
  const scopeWords = {
    everything: 'do everything',
    'knowledge:read': 'read',
    'ai.knowledge.refresh': 'refresh',
    'ai.knowledge.rollback': 'roll back',
    'runs:write': 'record runs',
  };

  start().catch((error) => showWait(`This did not work: ${messageOf(error)} Load the page again.`));

  async function start() {
    settings = await loadSettings();
    showWho();
    element('sign-out').addEventListener('click', () => void signOut());
    element('reload').addEventListener('click', () => location.reload());
    keepClosed(dialogOf('ended'));
    window.addEventListener('pointerdown', holdTabs, { capture: true });
    globals.monaco.editor.onDidCreateEditor(wrapLines);
    forgetOthers();
    const kept = keptTab();
    globals.YogaGraphiQL.renderYogaGraphiQL(element('graphiql'), {
      fetcher: ask,
      defaultTabs: settings.tabs,
      // A link must not put an operation before somebody who is signed in, nor an operation stand in an address.
      initialQuery: kept?.query,
      onEditQuery: () => undefined,
      onTabChange: globals.showTexts,
      // The open tab's; where no tab is kept, the first one's.
      initialVariables: kept === null ? settings.tabs[0]?.variables : (kept.variables ?? undefined),
      storage: storage(),
      shouldPersistHeaders: false,
    });
  }

  /**
   * GraphiQL moves a tab that is pressed, so that the click which follows may miss it: the press opens it.
   * @param {PointerEvent} event
   */
  function holdTabs(event) {
    const button = event.target instanceof Element ? event.target.closest('.graphiql-tab-button') : null;
    if (!(button instanceof HTMLElement)) return;
    event.stopImmediatePropagation();
    if (event.button === 0) button.click();
  }

  /**
   * A notice that Escape does not close; a browser insists where it is pressed twice.
   * @param {HTMLDialogElement} dialog
   */
  function keepClosed(dialog) {
    dialog.addEventListener('cancel', (event) => event.preventDefault());
    dialog.addEventListener('close', () => dialog.showModal());
  }

  /** Asks what differs from session to session; shows how to come back where there is none any more. */
  async function loadSettings() {
    const response = await fetch('graphiql/settings', { headers: preflight, cache: 'no-store' });
    if (response.status === 401) showEnded();
    if (!response.ok) throw new Error(await refusalOf(response));
    return response.json();
  }

  /**
   * GraphiQL's fetcher.
   * @param {Params} params
   * @param {Asking} [asking]
   */
  async function ask(params, asking = {}) {
    const { kind, name } = operationOf(params);
    const isStream = kind === 'subscription';
    const abort = new AbortController();
    const send = () =>
      post({ ...params, operationName: name }, { headers: asking.headers, isStream, signal: abort.signal });
    let response = await send().catch(() => null);
    if (response === null)
      return { errors: [{ message: 'The server cannot be reached. Try again when it runs.' }] };
    if (response.status === 403 && (await hasNewToken())) response = await send();
    if (response.status === 401 && !asking.headers?.['authorization'] && !asking.headers?.['Authorization'])
      showEnded();
    const isEvents = response.headers.get('content-type')?.startsWith('text/event-stream');
    return isEvents ? globals.followStream(response, abort) : resultOf(response);
  }

  /**
   * What GraphiQL shows, also of an answer that is not from our server but from something before it.
   * @param {Response} response
   */
  async function resultOf(response) {
    const text = await response.text();
    try {
      return JSON.parse(text);
    } catch {
      return { errors: [{ message: `The answer was no JSON, and its status ${response.status}.` }] };
    }
  }

  /**
   * Lines as wide as their pane, in every editor.
   * @param {any} editor
   */
  function wrapLines(editor) {
    setTimeout(() => editor.updateOptions({ wordWrap: 'on', fontSize: 14, wrappingIndent: 'indent' }));
  }

  /**
   * @param {Params} params
   * @param {{ headers: Record<string, string> | undefined, isStream: boolean, signal: AbortSignal }} options
   */
  function post({ query, variables, operationName }, { headers, isStream, signal }) {
    return fetch('graphql', {
      method: 'POST',
      signal,
      headers: {
        accept: isStream ? 'text/event-stream' : 'application/json',
        'content-type': 'application/json',
        ...tokenHeader(),
        ...headers,
      },
      body: JSON.stringify({ query, variables, operationName }),
    });
  }

  /** Whether somebody has signed in anew in another window of this browser, whose session is ours now. */
  async function hasNewToken() {
    if (settings.csrfToken === null) return false;
    const before = settings;
    settings = await loadSettings();
    showWho();
    if (settings.name !== before.name) {
      // What stands here is somebody else's, and must not be run in the new one's name.
      location.reload();
      return false;
    }
    return settings.csrfToken !== before.csrfToken;
  }

  /** @returns {Record<string, string>} */
  function tokenHeader() {
    return settings.csrfToken === null ? preflight : { 'x-csrf-token': settings.csrfToken };
  }

  /**
   * Which operation is meant, by the text alone: what GraphiQL says of it is the tab's before for a moment after another
   * one was opened.
   * @param {Params} params
   */
  function operationOf({ query, operationName }) {
    const found = [...query.matchAll(/^[\s,]*(query|mutation|subscription)\b[ \t]*(\w*)/gm)];
    const named =
      found.find(([, , name]) => name === operationName) ?? (found.length === 1 ? found[0] : undefined);
    return { kind: named?.[1] ?? 'query', name: named?.[2] || undefined };
  }

  async function signOut() {
    const response = await fetch('sign-out', { method: 'POST', headers: tokenHeader() });
    if (!response.ok && response.status !== 401) return alertOf(await refusalOf(response));
    showEnded('You are signed out', 'To sign in again, run this where the server runs, and open the link:');
  }

  function checkSession() {
    loadSettings().catch((error) => alertOf(messageOf(error)));
  }

  function showWho() {
    const { name, rights, expiresAt } = settings;
    element('sign-out').hidden = name === null;
    if (expiresAt === null) {
      element('who').textContent = 'No sign-in needed: authentication is off';
      return;
    }
    const until = new Date(expiresAt);
    const time = until.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
    element('who').textContent = `${name ?? 'somebody'} · ${rightsInWords(rights)} · until ${time}`;
    // This clock may be wrong, and there may be a newer session by then: the server knows.
    setTimeout(checkSession, until.getTime() - Date.now());
  }

  /**
   * What the server says of the rights, in plain words.
   * @param {string} rights
   */
  function rightsInWords(rights) {
    const [, scopes = '', bounds] = /^([^(]*?)(?: \((.*) only\))?$/.exec(rights) ?? [];
    const may = scopes.split(', ').map((scope) => scopeWords[scope] ?? scope);
    return `may ${may.join(', ')}${bounds === undefined ? '' : `, of ${bounds} alone`}`;
  }

  /**
   * Ends what the page shows and keeps: whoever comes next must not read it.
   * @param {string} [title]
   * @param {string} [text]
   */
  function showEnded(title, text) {
    const dialog = dialogOf('ended');
    if (dialog.open) return;
    if (title !== undefined) element('ended-title').textContent = title;
    if (text !== undefined) element('ended-text').textContent = text;
    element('sign-out').hidden = true;
    hasEnded = true;
    sessionStorage.clear();
    element('who').textContent = '';
    dialogOf('texts').close();
    element('texts-list').replaceChildren();
    element('read').hidden = true;
    // Another element, as GraphiQL goes on writing into its own.
    element('graphiql').replaceWith(Object.assign(document.createElement('main'), { id: 'graphiql' }));
    dialog.showModal();
  }

  /** @param {string} text */
  function showWait(text) {
    element('graphiql').textContent = text;
  }

  /** @param {string} text */
  function alertOf(text) {
    element('who').textContent = text;
  }

  /** What everything kept in the window begins with, so that no other session takes it for its own. */
  function sessionKey() {
    return `${JSON.stringify([settings.name, settings.rights, settings.expiresAt])} `;
  }

  /** Removes what other sessions have left in this window. */
  function forgetOthers() {
    for (const key of Object.keys(sessionStorage))
      if (!key.startsWith(sessionKey())) sessionStorage.removeItem(key);
  }

  /**
   * The tab that was open last in this window, null where none is kept that holds anything. GraphiQL opens an empty one
   * beside those kept unless it is told which of them is open.
   * @returns {Tab | null}
   */
  function keptTab() {
    const state = JSON.parse(sessionStorage.getItem(`${sessionKey()}graphiql:tabState`) ?? 'null');
    const tabs = (state?.tabs ?? []).filter((/** @type {Tab} */ { query }) => query?.trim());
    const open = state?.tabs?.[state.activeTabIndex];
    if (tabs.length > 0) return open?.query?.trim() ? open : tabs[0];
    sessionStorage.clear();
    return null;
  }

  /** @param {string} key @returns {[Storage, string]} */
  function placeOf(key) {
    return key.endsWith(':theme') ? [localStorage, key] : [sessionStorage, sessionKey() + key];
  }

  /**
   * What is typed lasts as long as the window, so that a new one begins with what is true now; the choice of colours
   * stays. Keys that are tried among the headers are kept nowhere.
   */
  function storage() {
    return {
      /** @param {string} key */
      getItem(key) {
        const [place, name] = placeOf(key);
        return place.getItem(name);
      },
      /** @param {string} key @param {string} value */
      setItem(key, value) {
        const [place, name] = placeOf(key);
        if (!hasEnded) place.setItem(name, value);
      },
      /** @param {string} key */
      removeItem(key) {
        const [place, name] = placeOf(key);
        place.removeItem(name);
      },
      clear: () => sessionStorage.clear(),
      get length() {
        return sessionStorage.length;
      },
    };
  }

  /** @param {Response} response */
  async function refusalOf(response) {
    const answer = await response.json().catch(() => null);
    return answer?.errors?.[0]?.message ?? `The server answered ${response.status}.`;
  }

  /** @param {unknown} error */
  function messageOf(error) {
    return error instanceof Error ? error.message : String(error);
  }

  /** @param {string} id */
  function dialogOf(id) {
    return /** @type {HTMLDialogElement} */ (element(id));
  }

  /** @param {string} id */
  function element(id) {
    return /** @type {HTMLElement} */ (document.getElementById(id));
  }
})();
