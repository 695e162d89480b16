
// One tab at a time: what a device keeps is read and written behind a lock of the browser. A page that came
// without encryption has no such locks: there a tab puts its own mark into the storage, and goes on if it stays.

const LOCK = `mechdesign lock ${FINGERPRINT}`;
const PAUSE = 60; // milliseconds in which what one tab wrote arrives in the others
const LEASE = 10000; // milliseconds after which the mark of a closed tab is void

function pause() {
  return new Promise((done) => setTimeout(done, PAUSE));
}

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
    return locks.request(LOCK, async () => {
      await pause();
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
