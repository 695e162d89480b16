// Randomize an answer on the respondent's own device: an ES module for browsers and node, without dependencies.
// Written by mechdesign from the mechanism with the fingerprint
// @@FINGERPRINT@@
// @@HEADER@@
// Change nothing below: "mechdesign audit" compares this file.
//
//   randomize(answer)           one report: draw it once, keep it, and send it
//   randomize(answer, source)   the same from other random bytes; source(count) returns a Uint8Array. For tests.
//   rows(report)                the report as rows of a table, for JSON lines

export const SHEET =
@@SHEET@@;
export const FINGERPRINT = SHEET.fingerprint;
export const SURVEY = SHEET.survey ?? null;
export const OWNER = SURVEY === null ? FINGERPRINT : `${FINGERPRINT} survey=${SURVEY}`; // whose the reports are
export const RECIPE = SHEET.recipe;

const TOTAL = 1n << 62n;
const known = new Map();

function fail(text) {
  throw new Error(text);
}

// A whole number written as 16 hexadecimal digits; each is read once.
function whole(text) {
  let found = known.get(text);
  if (found === undefined) known.set(text, (found = BigInt("0x" + text)));
  return found;
}

// The system's generator, in portions; bytes that were used are cleared.
function system() {
  const generator = globalThis.crypto;
  if (!generator || typeof generator.getRandomValues !== "function") {
    fail("this device has no secure random generator; use a current browser");
  }
  const pool = new Uint8Array(8192);
  let used = pool.length;
  return (count) => {
    const taken = new Uint8Array(count);
    for (let done = 0; done < count; ) {
      if (used === pool.length) {
        generator.getRandomValues(pool);
        used = 0;
      }
      const size = Math.min(count - done, pool.length - used);
      taken.set(pool.subarray(used, used + size), done);
      pool.fill(0, used, used + size);
      used += size;
      done += size;
    }
    return taken;
  };
}

class Bits {
  constructor(source) {
    this.source = source;
  }

  // Returns count words of 64 bits, the first byte of each the lowest.
  words(count) {
    const taken = this.source(8 * count);
    if (!(taken instanceof Uint8Array) || taken.length !== 8 * count) {
      fail(`the source did not return ${8 * count} bytes`);
    }
    return new DataView(taken.buffer, taken.byteOffset, taken.length);
  }

  integer() {
    return this.words(1).getBigUint64(0, true) >> 2n;
  }

  integers(count) {
    const words = this.words(count);
    return Array.from({ length: count }, (_, place) => words.getBigUint64(8 * place, true) >> 2n);
  }

  // A uniform whole number below the limit: numbers beyond its last multiple are drawn again.
  below(limit) {
    const size = BigInt(limit);
    let drawn = this.integer();
    while (drawn >= TOTAL - (TOTAL % size)) drawn = this.integer();
    return Number(drawn % size);
  }

  // Several such numbers: all are drawn, then those that are too large again, in order.
  belows(limit, count) {
    const size = BigInt(limit);
    const end = TOTAL - (TOTAL % size);
    const drawn = this.integers(count);
    let again = [...drawn.keys()].filter((place) => drawn[place] >= end);
    while (again.length) {
      this.integers(again.length).forEach((number, turn) => (drawn[again[turn]] = number));
      again = again.filter((place) => drawn[place] >= end);
    }
    return drawn.map((number) => Number(number % size));
  }

  // Returns count of the bits below as a list.
  list(count, weight) {
    const bytes = this.flags((count + 7) >> 3, weight);
    return Array.from({ length: count }, (_, place) => (bytes[place >> 3] >> (7 - (place & 7))) & 1);
  }

  // Returns size bytes of bits, each 1 with probability weight / 2^62, drawn in words of 64.
  flags(size, weight) {
    const count = (size + 7) >> 3;
    const result = new Uint32Array(2 * count);
    if (whole(weight) >= TOTAL) {
      result.fill(0xffffffff);
      return new Uint8Array(result.buffer, 0, size);
    }
    const digits = binary(weight);
    let open = new Uint32Array(2 * count).fill(0xffffffff);
    let places = Array.from({ length: count }, (_, place) => place);
    const single = count === 1 ? this.words(digits.length) : null; // a single word is never left out: take all at once
    for (let digit = 0; digit < digits.length && places.length; digit++) {
      const drawn = single || this.words(places.length);
      const start = single ? 8 * digit : 0;
      for (let index = 0; index < places.length; index++) {
        for (let half = 0; half < 2; half++) {
          const word = drawn.getUint32(start + 8 * index + 4 * half, true);
          const at = 2 * index + half;
          if (digits[digit]) {
            result[2 * places[index] + half] |= open[at] & ~word;
            open[at] &= word;
          } else {
            open[at] &= ~word;
          }
        }
      }
      if (digit % 2 === 0) {
        // digits count from the highest, number 61
        const left = [];
        for (let index = 0; index < places.length; index++) {
          if (open[2 * index] | open[2 * index + 1]) left.push(index);
        }
        if (left.length < places.length >> 1) {
          open = Uint32Array.from(left.flatMap((index) => [open[2 * index], open[2 * index + 1]]));
          places = left.map((index) => places[index]);
        }
      }
    }
    const bytes = new Uint8Array(size);
    for (let place = 0; place < size; place++) bytes[place] = result[place >> 2] >>> (8 * (place & 3));
    return bytes;
  }
}

// The binary digits of a weight from the highest, number 61, to its lowest 1.
const digitsOf = new Map();
function binary(weight) {
  let found = digitsOf.get(weight);
  if (found === undefined) {
    const text = whole(weight).toString(2).padStart(62, "0");
    found = Array.from(text.slice(0, text.lastIndexOf("1") + 1), Number);
    digitsOf.set(weight, found);
  }
  return found;
}

function packed(members) {
  const found = new Uint8Array((members.length + 7) >> 3);
  members.forEach((member, place) => {
    if (member) found[place >> 3] |= 128 >> (place & 7);
  });
  return found;
}

// Clear the bits of the last byte that stand for nothing.
function trimmed(bytes, size) {
  bytes[bytes.length - 1] &= 0xff00 >> (size - 8 * (bytes.length - 1));
  return bytes;
}

function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function unhex(text) {
  return Uint8Array.from(text.match(/../g) || [], (pair) => parseInt(pair, 16));
}

function named(step, number) {
  return step.labels ? step.labels[number] : number;
}

// The first place of an increasing row whose number is above the drawn one, or its length; equal lengths
// compare as texts.
function search(row, drawn) {
  const text = drawn.toString(16).padStart(16, "0");
  let low = 0;
  let high = row.length / 16;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.slice(16 * middle, 16 * middle + 16) > text) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Steps for the number of an answer

const CODES = {
  row: (step, code, bits) => named(step, search(step.rows[code], bits.integer())),

  kary(step, code, bits) {
    const drawn = bits.integer();
    const end = whole(step.delegate);
    const low = whole(step.low);
    let report = step.kept === null || step.kept.includes(code) ? code : step.kept[0];
    if (drawn < whole(step.own)) report = code;
    else if (drawn >= end && low) {
      report = Number((drawn - end) / low);
      if (step.kept !== null) report = step.kept[report];
    }
    return named(step, report);
  },

  bits(step, code, bits) {
    const bytes = bits.flags((step.size + 7) >> 3, step.add);
    const own = 128 >> (code & 7);
    if (bits.integer() < whole(step.keep)) bytes[code >> 3] |= own;
    else bytes[code >> 3] &= ~own;
    return "x" + hex(trimmed(bytes, step.size));
  },

  subset(step, code, bits) {
    const others = step.categories - 1;
    const own = bits.integer() < whole(step.include);
    const members = new Array(step.categories).fill(false);
    for (let last = others - step.size + (own ? 1 : 0); last < others; last++) {
      const drawn = bits.below(last + 1);
      const place = drawn >= code ? drawn + 1 : drawn;
      members[members[place] ? (last >= code ? last + 1 : last) : place] = true;
    }
    members[code] = own;
    return "x" + hex(packed(members));
  },

  parity(step, code, bits) {
    const row = code + 1;
    const odd = bits.integer() >= whole(step.even);
    const drawn = Number(bits.integer() & BigInt(step.order - 1));
    let common = drawn & row;
    for (const shift of [16, 8, 4, 2, 1]) common ^= common >> shift;
    return ((common & 1) === 1) === odd ? drawn : drawn ^ (row & -row);
  },

  hash(step, code, bits) {
    const seed = bits.below(step.prime * (step.prime - 1));
    const slope = 1 + Math.floor(seed / step.prime);
    const own = ((slope * code + (seed % step.prime)) % step.prime) % step.buckets;
    const beyond = bits.integer() - whole(step.own);
    return seed * step.buckets + (beyond < 0n ? own : Number(beyond / whole(step.other)));
  },

  hyperplane(step, code, bits) {
    const q = step.field;
    const powers = Array.from({ length: step.digits }, (_, place) => q ** place);
    const starts = powers.map((power) => (power - 1) / (q - 1));
    const digitsIn = (value) => powers.map((power) => Math.floor(value / power) % q);
    const height = starts.findLastIndex((start) => start <= code);
    const point = digitsIn(powers[height] + code - starts[height]);
    const product = bits.integer() >= whole(step.include) ? 1 : 0;
    let plane = [0];
    while (!plane.some((digit) => digit)) {
      plane = digitsIn(bits.below(q ** step.digits));
      plane[height] = 0;
      const found = plane.reduce((sum, digit, place) => sum + digit * point[place], 0);
      plane[height] = (((product - found) % q) + q) % q;
    }
    const top = plane.findLastIndex((digit) => digit);
    let inverse = 1;
    while ((inverse * plane[top]) % q !== 1) inverse++;
    const number = plane.reduce((sum, digit, place) => sum + ((digit * inverse) % q) * powers[place], 0);
    return number - powers[top] + starts[top];
  },
};

// Steps for numbers, given as parts of their ranges: a bound is computed from the answer, then only compared

const NUMBERS = {
  bit(step, units, bits) {
    const low = whole(step.lo);
    const span = whole(step.hi) - low;
    const ends = units.map((unit) => {
      const part = BigInt(Math.floor(unit * Number(span)));
      return low + (part < span ? part : span);
    });
    return bits.integers(units.length).map((drawn, place) => (drawn < ends[place] ? 1 : 0));
  },

  grid(step, units, bits) {
    const knots = step.knots;
    const last = knots.length - 2;
    const total = Number(TOTAL);
    const segments = units.map((unit) => {
      let segment = 0;
      while (segment < last && unit >= knots[segment + 1]) segment++;
      return segment;
    });
    const shares = units.map((unit, place) => {
      const start = knots[segments[place]];
      const factor = total / (knots[segments[place] + 1] - start);
      return BigInt(Math.floor(Math.min((unit - start) * factor, total)));
    });
    const rounded = bits.integers(units.length).map((drawn, place) => segments[place] + (drawn < shares[place] ? 1 : 0));
    return bits.integers(units.length).map((drawn, place) => search(step.rows[rounded[place]], drawn));
  },
};

// Steps for several answers

const LISTS = {
  sample(step, units, bits) {
    const chosen = [];
    for (let last = units.length - step.per_user; last < units.length; last++) {
      const drawn = Number(bits.integer() % BigInt(last + 1));
      chosen.push(chosen.includes(drawn) ? last : drawn);
    }
    const reports = NUMBERS[step.each.step](step.each, chosen.map((place) => units[place]), bits);
    return chosen.map((place, turn) => [place, reports[turn]]);
  },

  view(step, codes, bits) {
    const view = search(step.ends, bits.integer());
    const cell = step.views[view].reduce((sum, place) => sum * RECIPE.inputs[place].size + codes[place], 0);
    const oracle = step.oracles[step.oracle_of_view[view]];
    return [view, CODES[oracle.step](oracle, cell, bits)];
  },
};

// Answers

function read(asked, answer) {
  if ("words" in asked) return textBits(asked, answer);
  const name = asked.name === null ? "" : `${asked.name}: `;
  const shown = JSON.stringify(answer);
  if ("most" in asked) return readItems(asked, answer, name);
  if ("low" in asked) {
    if (answer === null && asked.skip) return null;
    if (typeof answer !== "number" || !(answer >= asked.low && answer <= asked.high)) {
      fail(`${name}${shown} is not a number from ${asked.low} to ${asked.high}`);
    }
    const unit = Math.min(Math.max((answer - asked.low) / (asked.high - asked.low), 0), 1);
    return "knots" in asked ? asked.knots.filter((knot) => unit >= knot).length : unit; // the bin, or the part of the range
  }
  if (asked.labels === null) {
    if (!Number.isInteger(answer) || answer < 0 || answer >= asked.size) {
      fail(`${name}${shown} is not a whole number from 0 to ${asked.size - 1}`);
    }
    return answer;
  }
  const code = asked.labels.indexOf(answer);
  if (code < 0) fail(`${name}${shown} is not one of the answers`);
  return code;
}

function numbers(answer) {
  const asked = RECIPE.inputs;
  if (RECIPE.single) return read(asked[0], answer);
  let list = answer;
  if (answer !== null && typeof answer === "object" && !Array.isArray(answer)) {
    const names = asked.map((entry) => entry.name);
    if (Object.keys(answer).length !== names.length || !names.every((name) => Object.hasOwn(answer, name))) {
      fail(`give an answer to each of ${names.join(", ")}`);
    }
    list = names.map((name) => answer[name]);
  }
  if (!Array.isArray(list) || list.length !== asked.length) fail(`give a list of ${asked.length} answers`);
  return asked.map((entry, place) => read(entry, list[place]));
}

function draw(answer, bits) {
  const step = RECIPE.steps;
  const read = numbers(answer);
  if (step.step in NUMBERS) return NUMBERS[step.step](step, [read], bits)[0];
  return (CODES[step.step] || LISTS[step.step])(step, read, bits);
}

// A source that returns given bytes.
export function tape(bytes) {
  let used = 0;
  const take = (count) => bytes.subarray(used, (used += count));
  take.left = () => bytes.length - used;
  return take;
}

// The checksum of the tables: all bytes of texts and numbers, in the order of the keys.
function sum(value, start) {
  let found = start;
  const add = (bytes) => bytes.forEach((byte) => (found = (found * 257 + byte) % 2147483647));
  if (value === null || typeof value === "boolean") add([value === null ? 2 : +value]);
  else if (typeof value === "string") add(new TextEncoder().encode(value));
  else if (typeof value === "number") add(new Uint8Array(Float64Array.of(value).buffer));
  else for (const key of Array.isArray(value) ? value.keys() : Object.keys(value).sort()) found = sum(value[key], found);
  return found;
}

// Throw unless the tables are whole, and all vectors inside this file come out.
export function check() {
  const { sum: stated, sha256, vectors, ...tables } = SHEET;
  if (sum(tables, 0) !== stated) fail("this file is damaged: its tables are not those that were exported; export it again");
  for (const [answer, text, report] of SHEET.vectors) {
    const source = tape(unhex(text));
    const found = JSON.stringify(draw(answer, new Bits(source)));
    if (found !== JSON.stringify(report) || source.left() !== 0) {
      fail("this file is damaged: a test vector does not come out; export it again");
    }
  }
}

let checked = false;
let generator = null;

function bitsOf(source) {
  if (!checked) check();
  checked = true;
  if (source === undefined) generator = generator || system();
  return new Bits(source === undefined ? generator : source);
}

export function randomize(answer, source) {
  return draw(answer, bitsOf(source));
}

export function rows(report) {
  const list = RECIPE.several ? report : [Array.isArray(report) ? report : [report]];
  return list.map((row) => Object.fromEntries(RECIPE.columns.map((name, place) => [name, row[place]])));
}
@@MORE@@