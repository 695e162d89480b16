
// Texts: a text is coded in bits by a public code, and the first of them are hashed by a random linear function

// The words of bits of a text, one for each symbol; of UTF-8, for each byte. What has no word is a symbol itself.
function wordsOf(asked, answer) {
  const composed = answer.normalize("NFC");
  if (asked.words !== null) {
    return Array.from(composed, (symbol) => (Object.hasOwn(asked.words, symbol) ? asked.words[symbol] : { symbol }));
  }
  const half = composed.match(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u);
  if (half) return [{ symbol: half[0] }];
  return Array.from(new TextEncoder().encode(composed), (byte) => byte.toString(2).padStart(8, "0"));
}

function textBits(asked, answer) {
  const name = asked.name === null ? "" : `${asked.name}: `;
  const shown = JSON.stringify(answer);
  if (typeof answer !== "string" || answer === "") fail(`${name}${shown} is not a text`);
  const words = wordsOf(asked, answer);
  const strange = words.find((word) => typeof word !== "string");
  if (strange) fail(`${name}${shown} has ${JSON.stringify(strange.symbol)}, which is not in the alphabet`);
  const text = words.join("");
  if (text.length > asked.bits) fail(`${name}${shown} takes ${text.length} bits, the code has ${asked.bits}`);
  return text.padEnd(asked.bits, "0");
}

function isOdd(number) {
  let odd = false;
  for (const digit of number.toString(2)) if (digit === "1") odd = !odd;
  return odd;
}

CODES.prefix = (step, text, bits) => {
  const group = search(step.ends, bits.integer());
  const length = step.lengths[group];
  const seed = bits.words(1).getBigUint64(0, true) & ((1n << BigInt(length + step.buckets - 1)) - 1n);
  const prefix = BigInt("0b" + text.slice(0, length));
  let bucket = 0;
  for (let place = 0; place < step.buckets; place++) if (isOdd(prefix & (seed >> BigInt(place)))) bucket |= 1 << place;
  const beyond = bits.integer() - whole(step.own);
  if (beyond >= 0n) bucket = Number(beyond / whole(step.other));
  return "x" + hex([group]) + seed.toString(16).padStart(16, "0") + hex([bucket]);
};
