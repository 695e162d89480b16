
// Linear queries: sets of types as hexadecimal digits, the highest bit of the first digit for type 0

function typeOf(step, answer) {
  return step.bins ? Math.min(Math.floor(answer * step.types), step.types - 1) : answer; // the bin of a unit
}

const holds = (text, place) => (parseInt(text[place >> 2], 16) >> (3 - (place & 3))) & 1;
const entry = (row, place) => whole(row.slice(16 * place, 16 * place + 16));

CODES.patterns = function (step, answer, bits) {
  const code = typeOf(step, answer);
  const drawn = bits.integer();
  let end = 0n;
  let report = 0;
  step.sets.forEach((text, place) => {
    end += entry(holds(text, code) ? step.high : step.low, place); // all of them, whatever was drawn
    report += end <= drawn ? 1 : 0;
  });
  return report;
};

CODES.orbits = function (step, answer, bits) {
  const code = typeOf(step, answer);
  const drawn = bits.integer();
  const block = search(step.ends, drawn);
  const base = block >> 1;
  if (base === step.sets.length) return base * step.types;
  const outside = block & 1;
  const start = block ? entry(step.ends, block - 1) : 0n;
  const turn = Number((drawn - start) / entry(outside ? step.low : step.high, base));
  const members = Array.from({ length: step.types }, (_, place) => place);
  const place = members.filter((member) => holds(step.sets[base], member) !== outside)[turn];
  const moved = step.group === "cube" ? code ^ place : (code - place + step.types) % step.types;
  return base * step.types + moved;
};
