
// Weekly reports: what the device keeps, and the sets that are drawn from it. "await remember(answer, storage)"
// draws the permanent set, once, and "await report(storage, source, answer)" the next week's report from it;
// localStorage is the default, and the answer is needed where it may change. Two tabs take turns.

// A uniform subset of the numbers below pool, as a list of booleans.
function choose(pool, count, bits) {
  const members = new Array(pool).fill(false);
  for (let last = pool - count; last < pool; last++) {
    const drawn = bits.below(last + 1);
    members[members[drawn] ? last : drawn] = true;
  }
  return members;
}

const holds = (bytes, place) => ((bytes[place >> 3] >> (7 - (place & 7))) & 1) === 1;

// What is drawn once, without a look at the answer.
function frontOf(step, bits) {
  if (step.cells === "hashed") return unhex(bits.below(step.prime * (step.prime - 1)).toString(16).padStart(14, "0"));
  return step.cells === "bins" ? packed(choose(step.categories, step.bins, bits)) : new Uint8Array(0);
}

function cellOf(step, front, code) {
  if (step.cells === "hashed") {
    const seed = parseInt(hex(front), 16);
    return (((1 + Math.floor(seed / step.prime)) * code + (seed % step.prime)) % step.prime) % step.buckets;
  }
  if (step.cells === "answers") return code;
  if (!holds(front, code)) return step.bins;
  let rank = 0;
  for (let place = 0; place < code; place++) rank += holds(front, place);
  return rank;
}

function permanentSet(step, cell, bits) {
  return unhex(CODES.subset({ categories: step.count, size: step.size, include: step.include }, cell, bits).slice(1));
}

function weeklySet(step, permanent, bits) {
  if (bits.integer() >= whole(step.near)) return packed(choose(step.count, step.weekly_size, bits));
  if (step.weekly_size === step.size) return permanent;
  const grows = step.weekly_size > step.size;
  const held = Array.from({ length: step.count }, (_, place) => holds(permanent, place));
  const pool = [...held.keys()].filter((place) => held[place] !== grows);
  const members = grows ? held : held.map(() => false);
  const chosen = choose(pool.length, step.weekly_size - (grows ? step.size : 0), bits);
  pool.forEach((place, turn) => (members[place] ||= chosen[turn]));
  return packed(members);
}

CODES.weekly = (step, code, bits) => {
  const front = frontOf(step, bits);
  const permanent = permanentSet(step, cellOf(step, front, code), bits);
  return "x" + hex(front) + hex(weeklySet(step, permanent, bits));
};

const KEY = `mechdesign permanent ${OWNER}`;

// What is kept with the sets that an answer needs, and the name of its set.
function withSets(step, kept, code, bits) {
  const only = step.most === 1;
  if (only && "0" in kept.sets) return [kept, "0"];
  const cell = cellOf(step, unhex(kept.front), code);
  const name = only ? "0" : String(cell);
  if (name in kept.sets) return [kept, name];
  const every = !only && step.most === step.count;
  const sets = { ...kept.sets };
  for (const place of every ? Array(step.count).keys() : [cell]) {
    sets[only ? "0" : String(place)] = hex(permanentSet(step, place, bits));
  }
  if (Object.keys(sets).length > step.most) fail(`the guarantee is for ${step.most} different answers`);
  return [{ ...kept, sets }, name];
}

function rememberNow(answer, storage, source) {
  if (storage.getItem(KEY) !== null) fail("a permanent response is kept already; it is never replaced");
  const code = numbers(answer);
  const bits = bitsOf(source);
  const first = { front: hex(frontOf(RECIPE.steps, bits)), sets: {}, made: 0 };
  storage.setItem(KEY, JSON.stringify(withSets(RECIPE.steps, first, code, bits)[0]));
}

function reportNow(storage, source, answer) {
  const step = RECIPE.steps;
  const text = storage.getItem(KEY);
  if (text === null) fail("no permanent response is kept here; call remember first");
  const before = JSON.parse(text);
  if (before.made >= step.weeks) fail(`${step.weeks} weeks were planned, and so many reports made`);
  if (step.most > 1 && answer === undefined) fail("the answer may have changed: give this week's");
  const bits = bitsOf(source);
  const [kept, name] = withSets(step, before, step.most > 1 ? numbers(answer) : 0, bits);
  storage.setItem(KEY, JSON.stringify({ ...kept, made: kept.made + 1 }));
  return "x" + kept.front + hex(weeklySet(step, unhex(kept.sets[name]), bits));
}

export async function remember(answer, storage = globalThis.localStorage, source) {
  return alone(() => rememberNow(answer, storage, source), storage);
}

export async function report(storage = globalThis.localStorage, source, answer) {
  return alone(() => reportNow(storage, source, answer), storage);
}
