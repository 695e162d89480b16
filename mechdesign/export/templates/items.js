// Sets of items, and keys with values

// The sorted numbers of items, or of keys with the part of the range that each value is.
function readItems(asked, answer, name) {
  const pairs = "low" in asked;
  const right = pairs ? answer !== null && typeof answer === "object" && !Array.isArray(answer) : Array.isArray(answer);
  if (!right) fail(`${name}${JSON.stringify(answer)} is not ${pairs ? "an object of keys and numbers" : "a list of items"}`);
  const one = { name: asked.name, size: asked.size, labels: asked.labels };
  const range = { name: asked.name, low: asked.low, high: asked.high };
  const found = new Map();
  for (const item of pairs ? Object.keys(answer) : answer) {
    const plain = pairs && asked.labels === null && /^[0-9]+$/.test(item) ? Number(item) : item;
    found.set(read(one, plain), pairs ? read(range, answer[item]) : null);
  }
  if (found.size > asked.most) fail(`${name}${found.size} items, and at most ${asked.most} are allowed`);
  return [...found.entries()].sort((left, right) => left[0] - right[0]);
}

// Numbers with points between them, and behind one or two so many that no program takes the text for a number.
function pointed(numbers) {
  return numbers.join(".") + (numbers.length ? ".".repeat(Math.max(0, 3 - numbers.length)) : "");
}

// The items of a set, sampled or filled with dummies to the length of the step, in order.
function heldOf(step, answered, bits) {
  let held = answered.map(([code]) => code);
  if ("low" in RECIPE.inputs[0]) {
    // each key becomes one of the ends of its range; an integer is drawn for nothing where there is none
    const drawn = bits.integers(Math.max(1, answered.length));
    held = answered.map(([key, unit], place) => {
      const end = BigInt(Math.floor(Math.min(unit * Number(TOTAL), Number(TOTAL))));
      return 2 * key + (drawn[place] < end ? 1 : 0);
    });
  }
  if (held.length > step.length) {
    for (let place = 0; place < step.length; place++) {
      const other = place + bits.below(held.length - place);
      [held[place], held[other]] = [held[other], held[place]];
    }
  }
  held = held.slice(0, step.length);
  for (let place = step.items; held.length < step.length; place++) held.push(place);
  held.sort((left, right) => left - right);
  return held;
}

CODES.items = function (step, answered, bits) {
  const total = step.items + step.length;
  const held = heldOf(step, answered, bits);

  // A uniform subset of the items that are not among some, in order.
  const others = (without, count) => {
    const chosen = new Set();
    const most = total - without.length;
    for (let last = most - count; last < most; last++) {
      const drawn = bits.below(last + 1);
      chosen.add(chosen.has(drawn) ? last : drawn);
    }
    return new Set([...chosen].map((rank) => without.reduce((item, each) => item + (item >= each ? 1 : 0), rank)));
  };

  let members;
  if (bits.integer() < whole(step.include)) {
    let ways;
    do {
      const own = held[bits.below(step.length)];
      members = others([own], step.size - 1).add(own);
      const drawn = members;
      ways = held.filter((item) => drawn.has(item)).length;
    } while (bits.below(ways) !== 0);
  } else members = others(held, step.size);
  const listed = [...members].filter((item) => item < step.items).sort((left, right) => left - right);
  if (step.sparse) return pointed(listed) || "none";
  const flags = new Array(step.items).fill(false);
  for (const item of listed) flags[item] = true;
  return "x" + hex(packed(flags));
};

// The inverse of a number modulo a prime, by Euclid.
function inverse(number, prime) {
  let [before, now, first, second] = [prime, number, 0, 1];
  while (now > 1) {
    const times = Math.floor(before / now);
    [before, now, first, second] = [now, before - times * now, second, first - times * second];
  }
  return second < 0 ? second + prime : second;
}

CODES["set-hashing"] = function (step, answered, bits) {
  const { prime, length, size } = step;
  const held = heldOf(step, answered, bits);
  const left = (number) => ((number % prime) + prime) % prime;
  let values;
  if (bits.integer() < whole(step.include)) {
    let ways;
    do {
      const own = bits.below(length);
      values = held.map(() => bits.below(prime));
      values[own] = bits.below(size);
      ways = values.filter((value) => value < size).length;
    } while (bits.below(ways) !== 0);
  } else values = held.map(() => size + bits.below(prime - size));
  const result = [bits.below(prime), ...new Array(length).fill(0)]; // the constant coefficient first
  for (let turn = 1; turn < length; turn++) {
    for (let place = length - 1; place >= turn; place--) {
      values[place] = left((values[place] - values[place - 1]) * inverse(held[place] - held[place - turn], prime));
    }
  }
  for (let place = length - 1; place >= 0; place--) {
    for (let power = length; power > 0; power--) result[power] = left(result[power - 1] - held[place] * result[power]);
    result[0] = left(values[place] - held[place] * result[0]);
  }
  return pointed(result);
};
