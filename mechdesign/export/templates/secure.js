
// Parts: shares of noisy numbers, and entries of codewords

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

Object.assign(PARTS, {
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
});
