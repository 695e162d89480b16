
// Counts of events: a report names slots, and its weight depends on how many events the state has in them

// The state with a number: a sequence of slots, none below the one before it.
function stateOf(step, code) {
  let state = [];
  for (let turn = 0; turn < code; turn++) {
    const place = state.findLastIndex((slot) => slot < step.slots - 1);
    const next = place < 0 ? 0 : state[place] + 1;
    state = [...state.slice(0, Math.max(place, 0)), ...new Array(state.length - place).fill(next)];
  }
  return state;
}

CODES.events = function (step, code, bits) {
  const count = new Array(step.slots).fill(0);
  for (const slot of stateOf(step, code)) count[slot]++;
  const order = [...count.keys()].sort((one, other) => count[other] - count[one] || one - other);
  const held = order.map((slot) => count[slot]);
  const own = String(held.filter((each) => each));
  const kind = step.kinds.findIndex((each) => String(each) === own);
  const base = step.most + 1;
  const added = (list) => list.reduce((sum, each) => sum + each, 0n);
  const wholes = (row) => (row.match(/.{16}/g) || []).map(whole);
  const drawn = bits.integer();
  let end = wholes(step.blanks)[kind];
  let start = 1;
  let found = null;
  step.named.forEach((named, orbit) => { // a block for all named slots but the first
    const weights = wholes(step.weights[orbit][kind]);
    const at = (places) => places.reduce((sum, place) => sum * base + held[place], 0) * base;
    const sums = weights.map((_, place) => (place % base ? 0n : added(held.map((each) => weights[place + each]))));
    const places = new Array(named - 1).fill(0);
    for (let left = step.slots ** (named - 1); left; left--) { // all of them, whatever was drawn
      if (new Set(places).size === places.length) {
        const own = at(places);
        if (end <= drawn) found = { start, begin: end, places: [...places], weights: weights.slice(own, own + base) };
        end += sums[own] - added(places.map((place) => weights[own + held[place]]));
      }
      for (let turn = named - 2; turn >= 0 && ++places[turn] === step.slots; turn--) places[turn] = 0;
    }
    start += step.slots ** named;
  });
  if (found === null) return 0;
  let first = 0;
  for (const place of order.keys()) {
    if (found.places.includes(place)) continue;
    if (found.begin <= drawn) first = place;
    found.begin += found.weights[held[place]];
  }
  return found.start + [...found.places, first].reduce((sum, place) => sum * step.slots + order[place], 0);
};
