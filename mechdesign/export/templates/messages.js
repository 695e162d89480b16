
// Messages of the shuffle protocols: parts, whose messages are sorted in the end

const HALF = "2000000000000000";

function respond(step, own, bits) {
  const beyond = bits.integer() - whole(step.own);
  return beyond < 0n ? own : Number(beyond / whole(step.other));
}

function affine(step, seed, value) {
  return (((1 + Math.floor(seed / step.prime)) * value + (seed % step.prime)) % step.prime) % step.buckets;
}

// A number by weights out of 2^124: a second integer decides where the first one is at an end.
function fromTable(step, bits) {
  const drawn = bits.integer();
  const own = drawn.toString(16).padStart(16, "0");
  const at = (row, place) => row.slice(16 * place, 16 * place + 16);
  let place = drawn ? search(step.high, drawn - 1n) : 0;
  if (at(step.high, place) === own) {
    const more = bits.integer();
    while (at(step.high, place) === own && whole(at(step.low, place)) <= more) place++;
  }
  return place;
}

function oddOnes(number) {
  return number.toString(2).replaceAll("0", "").length % 2 === 1;
}

const PARTS = {
  noisy(step, value, bits) {
    const modulus = step.modulus;
    const categories = Array.from({ length: step.categories || 1 }, (_, place) => place);
    return categories.flatMap((category) => {
      const own = step.categories ? +(value === category) : value;
      const more = fromTable(step, bits);
      const noisy = own + more - fromTable(step, bits);
      const shares = bits.belows(modulus, step.shares - 1);
      const rest = ((noisy % modulus) + modulus) % modulus;
      shares.push(shares.reduce((left, share) => (left - share + modulus) % modulus, rest));
      return shares.map((share) => (step.categories ? [category, share] : [share]));
    });
  },

  entries(step, value, bits) {
    const count = 1 + bits.list(step.trials, step.weight).reduce((sum, bit) => sum + bit, 0);
    const columns = step.widths.map((width) => bits.integers(count).map((drawn) => BigInt.asUintN(width, drawn)));
    const made = Array.from({ length: count }, (_, turn) => columns.map((column) => column[turn]));
    const own = BigInt(value + 1);
    for (let place = 0; place < step.entries; place++) {
      const column = Math.floor(place / step.each);
      const shift = BigInt(step.digits * (place % step.each));
      if (oddOnes((made[0][column] >> shift) & own)) made[0][column] ^= (own & -own) << shift;
    }
    return made;
  },

  flips: (step, value, bits) =>
    bits.list(step.size, step.flip).map((flag, place) => {
      const bit = flag ^ (step.ones === "below" ? place < value : place === value);
      return [step.named ? 2 * place + bit : bit];
    }),

  vectors(step, value, bits) {
    const cells = bits.list(step.vectors * step.size, step.flip);
    cells[value] ^= 1;
    return Array.from({ length: step.vectors }, (_, turn) => {
      const words = new Array(step.words).fill(0);
      for (let place = 0; place < step.size; place++) {
        words[place >> 5] += cells[turn * step.size + place] * 2 ** (place & 31);
      }
      return words;
    });
  },

  response: (step, value, bits) => [[respond(step, value, bits)]],

  hashed(step, value, bits) {
    const seed = bits.below(step.prime * (step.prime - 1));
    return [[seed, respond(step, affine(step, seed, value), bits)]];
  },

  levels(step, value, bits, rounded) {
    let rest = rounded[0];
    return step.levels.map((level, number) => {
      let digit = Math.floor(rest / level.scale);
      rest -= digit * level.scale;
      if (number === step.levels.length - 1) digit += rounded[1];
      return [number, respond(level, digit, bits)];
    });
  },

  presence(step, value, bits) {
    const made = step.size > 1 ? [[value]] : value ? [[0]] : [];
    for (let place = 0; place < step.size; place++) {
      if (!bits.list(1, step.silent)[0]) made.push([place]);
    }
    return made;
  },

  dummies(step, value, bits) {
    const own = step.own;
    const cell =
      "shift" in own ? value >> own.shift : "equal" in own ? +(value === own.equal) : affine(own, own.seed, value);
    const count = bits.list(step.trials, step.weight).reduce((sum, bit) => sum + bit, 0);
    const others = step.alphabet ? bits.belows(step.alphabet, count) : bits.list(count, HALF);
    return [cell, ...others].map((message) => [step.start + message]);
  },

  pure(step, value, bits) {
    let ones = search(step.row, bits.integer());
    if ((value >> step.place) & 1) ones = step.length - ones;
    return Array.from({ length: step.length }, (_, place) => [2 * step.place + (place < ones ? 1 : 0)]);
  },

  parities(step, value, bits) {
    const parity = bits.list(step.size, step.flip);
    parity[value] = bits.list(1, HALF)[0];
    const drawn = bits.list(step.size * step.shares, HALF);
    parity.forEach((bit, place) => {
      const start = place * step.shares;
      drawn[start] ^= drawn.slice(start, start + step.shares).reduce((sum, share) => sum ^ share, bit);
    });
    return drawn.map((share, place) => [2 * Math.floor(place / step.shares) + share]);
  },
};

CODES.messages = function (step, value, bits) {
  let number = value;
  let rounded = null;
  if (step.round !== null) {
    const scaled = value * step.round;
    const floor = Math.min(Math.floor(scaled), step.round - 1);
    const up = bits.integer() < BigInt(Math.floor((scaled - floor) * Number(TOTAL))) ? 1 : 0;
    rounded = [floor, up];
    number = floor + up;
  }
  const made = step.parts.flatMap((part) => PARTS[part.make](part, number, bits, rounded));
  made.sort((one, other) => {
    const place = one.findIndex((each, turn) => each !== other[turn]);
    return place < 0 ? 0 : one[place] < other[place] ? -1 : 1;
  });
  return made.map((row) => row.map(step.texts ? String : Number));
};
