
// Numbers as people write them: with a point or a comma. Nothing is guessed: what can be read in two ways is asked again.
const NUMBER = /^([+\-\u2212]?)(\d+)(?:([.,])(\d+))?$/;
const GROUPED = /^[+\-\u2212]?\d{1,3}(?:[.,'\u2019\s]\d{3})+(?:[.,]\d+)?$/;

// Returns { value } or { fault }, a sentence; both are absent for an empty text.
function readNumber(text, low, high) {
  const written = text.trim();
  if (!text) return {};
  const inside = (value) => low <= value && value <= high;
  const range = `Please give a number from ${low} to ${high}`;
  const found = NUMBER.exec(written);
  if (!found) {
    const grouped = GROUPED.test(written);
    return { fault: grouped ? `${range}, without separators between thousands.` : `${range}, in digits, such as ${low}.` };
  }
  const [, sign, whole, separator, part = ""] = found;
  const minus = sign === "-" || sign === "\u2212" ? "-" : "";
  const value = Number(`${minus}${whole}.${part || "0"}`);
  const joined = Number(`${minus}${whole}${part}`);
  if (separator && part.length === 3 && whole.length <= 3 && !whole.startsWith("0") && inside(joined)) {
    return { fault: `This can be ${joined} or ${value}. Please write it without a separator, or with another number of digits after it.` };
  }
  return inside(value) ? { value: value === 0 ? 0 : value } : { fault: `${range}.` };
}
