/// <reference lib="dom" />
// How the page shows the results of a subscription; `client.js` calls it.
(() => {
  /** @type {any} */
  const globals = self;
  globals.followStream = follow;

  /**
   * The results of a stream, newest on top, with those before it beside it: GraphiQL shows one at a time. Stopping it
   * ends the request.
   * @param {Response} response
   * @param {AbortController} abort
   */
  function follow(response, abort) {
    const results = withEarlier(readEvents(response));
    const end = async () => {
      abort.abort();
      return { done: true, value: undefined };
    };
    const iterator = {
      next: () => results.next().catch((error) => (abort.signal.aborted ? end() : Promise.reject(error))),
      return: end,
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  }

  /** @param {AsyncGenerator<any>} results */
  async function* withEarlier(results) {
    yield { extensions: { waiting: 'Watching. Nothing has changed since; the next change appears here.' } };
    /** @type {unknown[]} */
    const earlier = [];
    for await (const result of results) {
      yield earlier.length === 0 ? result : { ...result, extensions: { ...result.extensions, earlier } };
      earlier.unshift(result.data ?? result.errors);
      earlier.splice(20);
    }
    yield {
      extensions: { ended: 'The server has ended this stream. Press the play button to watch again.' },
    };
  }

  /** @param {Response} response */
  async function* readEvents(response) {
    const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
    const decoder = new TextDecoder();
    let text = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const events = text.split(/\r?\n\r?\n/);
      text = events.pop() ?? '';
      for (const event of events) {
        const lines = event.split(/\r?\n/);
        if (lines.includes('event: complete')) return;
        const data = lines
          .filter((line) => line.startsWith('data:'))
          .map((line) => line.slice(5))
          .join('\n');
        if (data.trim() !== '') yield JSON.parse(data);
      }
    }
  }
})();
