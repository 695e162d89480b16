
// Numbers as people write them: with a point or a comma. Nothing is guessed: what can be read in two ways is asked again.
const NUMBER = /^([+\-\u2212]?)(\d+)(?:([.,\u066b])(\d+))?$/;
const GROUPED = /^[+\-\u2212]?\d{1,3}(?:[.,'\u2019\s]\d{3})+(?:[.,]\d+)?$/;

// Returns { value } or { fault }, a sentence; both are absent for an empty text.
function readNumber(text, low, high) {
  const written = text.trim();
  if (!text) return {};
  const inside = (value) => low <= value && value <= high;
  const fault = (name) => ({ fault: sentence(`number.${name}`, { low: numeral(low), high: numeral(high) }) });
  const found = NUMBER.exec(written);
  if (!found) return fault(GROUPED.test(written) ? "thousands" : "digits");
  const [, sign, whole, separator, part = ""] = found;
  const minus = sign === "-" || sign === "\u2212" ? "-" : "";
  const value = Number(`${minus}${whole}.${part || "0"}`);
  const joined = Number(`${minus}${whole}${part}`);
  if (separator && part.length === 3 && whole.length <= 3 && !whole.startsWith("0") && inside(joined)) {
    return { fault: sentence("number.two_ways", { first: numeral(joined), second: numeral(value) }) };
  }
  return inside(value) ? { value: value === 0 ? 0 : value } : fault("again");
}

// How a typed number was read, for the respondent to check.
function readAloud(text, value) {
  const number = numeral(value);
  return text.trim() === number ? sentence("number.read", { number }) : sentence("number.typed", { typed: text.trim(), number });
}
