
// Messages of the shuffle protocols: parts, whose messages are sorted in the end

const PARTS = {};

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
