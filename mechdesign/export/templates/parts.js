
// Parts: flipped bits, responses, dummies

const HALF = "2000000000000000";

function respond(step, own, bits) {
  const beyond = bits.integer() - whole(step.own);
  return beyond < 0n ? own : Number(beyond / whole(step.other));
}

function affine(step, seed, value) {
  return (((1 + Math.floor(seed / step.prime)) * value + (seed % step.prime)) % step.prime) % step.buckets;
}

Object.assign(PARTS, {
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
});
