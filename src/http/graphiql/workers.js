/// <reference lib="dom" />
// Before GraphiQL: its editors work in threads, made of texts that the page brings along.
(() => {
  /** @type {any} */
  const globals = self;
  /** @type {Record<string, string>} */
  const addresses = {};
  for (const [label, text] of Object.entries(globals.MonacoWorkers)) {
    addresses[label] = URL.createObjectURL(new Blob([text], { type: 'application/javascript' }));
  }
  globals.MonacoEnvironment = {
    // Editors are told to wrap their lines (`client.js`).
    globalAPI: true,
    /** @param {string} _module @param {string} label */
    getWorkerUrl: (_module, label) => addresses[label],
  };
})();
