
// Sets of values, and surveys of several questions

function chosen(without, others, count, bits) {
  const members = new Array(others + 1).fill(false);
  for (let last = others - count; last < others; last++) {
    const drawn = bits.below(last + 1);
    const place = drawn >= without ? drawn + 1 : drawn;
    members[members[place] ? (last >= without ? last + 1 : last) : place] = true;
  }
  return members;
}

// A uniform subset of this width of all values, or of all but one.
function filled(size, width, without, bits) {
  const others = without === null ? size : size - 1;
  const except = without === null ? size : without;
  let member = new Array(size).fill(false);
  if (width === 1) {
    const drawn = bits.below(others);
    member[drawn >= except ? drawn + 1 : drawn] = true;
  } else if (width && 2 * width <= others) {
    member = chosen(except, others, width, bits).slice(0, size);
  } else if (width) {
    member = chosen(except, others, others - width, bits).slice(0, size).map((bit) => !bit);
    if (without !== null) member[without] = false;
  }
  return member;
}

// Whether something with a rational chance happens: 62 binary digits at a time, until they differ.
function happens(table, needed, bits) {
  let digit = whole(table.limits.slice(16 * needed, 16 * needed + 16));
  let [rest, of] = table.rests[needed].map(whole);
  let drawn = bits.integer();
  while (drawn === digit && rest) {
    digit = (rest << 62n) / of;
    rest = (rest << 62n) % of;
    drawn = bits.integer();
  }
  return drawn < digit;
}

LISTS.sets = function (step, codes, bits) {
  const list = step.joined === null ? codes : [codes.reduce((cell, code, place) => cell * step.joined[place] + code, 0)];
  const held = bits.integer() < whole(step.include);
  let needed = step.least;
  const matches = step.factors.map((_, place) => {
    const match = held && (step.matches === null || happens(step.matches[place], needed, bits));
    if (match && needed) needed--;
    return match;
  });
  const members = step.factors.flatMap(([size, width], place) => {
    const member = filled(size, width - (matches[place] ? 1 : 0), held ? list[place] : null, bits);
    if (matches[place]) member[list[place]] = true;
    return member;
  });
  return "x" + hex(packed(members));
};

LISTS.survey = function (step, answers, bits) {
  const number = search(step.ends, bits.integer());
  const texts = step.designs[number].map((part) => {
    const inner = part.draw;
    if (part.kind === "number") return NUMBERS[inner.step](inner, [answers[part.questions[0]]], bits)[0];
    const codes = part.questions.map((place) => {
      if (!step.means[place]) return answers[place];
      const end = Math.floor(Math.min((answers[place] ?? 0) * Number(TOTAL), Number(TOTAL))); // of a unit: rounded to an end
      const upper = bits.integer() < BigInt(end) ? 1 : 0;
      return answers[place] === null ? 2 : upper;
    });
    if (part.kind === "sets") return LISTS.sets(inner, codes, bits);
    const cell = part.questions.reduce((sum, place, turn) => sum * step.sizes[place] + codes[turn], 0);
    return CODES[inner.step](inner, cell, bits);
  });
  return `${number}:${texts.join("|")}`;
};
