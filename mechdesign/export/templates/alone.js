
// One tab at a time, behind a lock of the browser. A page that came without encryption has none: there a tab
// puts a mark into the storage, and goes on if it stays.

const LOCK = `mechdesign lock ${FINGERPRINT}`;
const PAUSE = 60; // milliseconds in which what a tab writes arrives in others
const LEASE = 10000; // milliseconds after which the mark of a closed tab is void

const pause = (time = PAUSE) => new Promise((done) => setTimeout(done, time));

async function marked(storage) {
  const own = hex(globalThis.crypto.getRandomValues(new Uint8Array(8)));
  for (;;) {
    const [holder, until] = (storage.getItem(LOCK) || " 0").split(" ");
    if (!holder || Number(until) < Date.now()) {
      storage.setItem(LOCK, `${own} ${Date.now() + LEASE}`);
      await pause();
      if ((storage.getItem(LOCK) || "").startsWith(own)) return;
    }
    await pause();
  }
}

async function alone(task, storage) {
  const locks = globalThis.navigator && globalThis.navigator.locks;
  if (locks) {
    const busy = (await locks.query()).held.length;
    return locks.request(LOCK, async () => {
      await pause(busy ? 5 * PAUSE : PAUSE);
      return task();
    });
  }
  await marked(storage);
  try {
    return task();
  } finally {
    storage.setItem(LOCK, "");
  }
}
