
// Joint responses: "await remember(answer, storage)" draws the permanent response, once, and "await report(storage)"
// the next report from it; localStorage is the default. Two tabs take turns.

// The bits of each attribute: one a value, or one for two values.
function widths(step) {
  return step.sizes.map((size) => (step.bit && size === 2 ? 1 : size));
}

// A bit for every place of a report, with the chance of this name of its own kind.
function chances(step, name, size, bits) {
  const several = step[name] && bits.flags(size, step[name]);
  if (!step.bit) return several;
  const single = bits.flags(size, step.bit[name]);
  if (!several) return single;
  const alone = packed(widths(step).flatMap((width) => new Array(width).fill(width === 1)));
  return single.map((byte, place) => (byte & alone[place]) | (several[place] & ~alone[place]));
}

function permanent(step, codes, bits) {
  const members = widths(step).flatMap((width, turn) =>
    Array.from({ length: width }, (_, place) => (width === 1 ? 1 : place) === codes[turn]),
  );
  const bytes = packed(members);
  const flips = trimmed(chances(step, "flip", bytes.length, bits), members.length);
  return bytes.map((byte, place) => byte ^ flips[place]);
}

function reported(step, kept, bits) {
  const keep = chances(step, "keep", kept.length, bits);
  const add = chances(step, "add", kept.length, bits);
  const size = widths(step).reduce((sum, width) => sum + width, 0);
  return "x" + hex(trimmed(kept.map((byte, place) => (byte & keep[place]) | (~byte & add[place])), size));
}

LISTS.joint = (step, codes, bits) => reported(step, permanent(step, codes, bits), bits);

const KEY = `mechdesign permanent ${OWNER}`;

function rememberNow(answer, storage, source) {
  if (RECIPE.steps.step !== "joint") fail("this mechanism keeps nothing; call randomize");
  if (storage.getItem(KEY) !== null) fail("a permanent response is kept already; it is never replaced");
  const kept = permanent(RECIPE.steps, numbers(answer), bitsOf(source));
  storage.setItem(KEY, JSON.stringify({ bits: hex(kept), made: 0 }));
}

function reportNow(storage, source) {
  const text = storage.getItem(KEY);
  if (text === null) fail("no permanent response is kept here; call remember first");
  const kept = JSON.parse(text);
  const most = RECIPE.steps.reports;
  if (most !== null && kept.made >= most) fail(`the guarantee is for ${most} reports, which were made`);
  const bits = bitsOf(source);
  storage.setItem(KEY, JSON.stringify({ ...kept, made: kept.made + 1 }));
  return reported(RECIPE.steps, unhex(kept.bits), bits);
}

export async function remember(answer, storage = globalThis.localStorage, source) {
  return alone(() => rememberNow(answer, storage, source), storage);
}

export async function report(storage = globalThis.localStorage, source) {
  return alone(() => reportNow(storage, source), storage);
}
