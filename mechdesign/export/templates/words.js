
// The page's words: sentences of its language, numbers as the language writes them
const PAGE =
@@PAGE@@;

function sentence(key, parts = {}) {
  const [section, name] = key.split(".");
  return PAGE.texts[section][name].replace(/\{(\w+)\}/g, (place, part) => parts[part] ?? place);
}

function numeral(value) {
  return String(value).replace(".", PAGE.texts.language.decimal);
}

function quoted(text) {
  return sentence("language.quote", { text });
}

function listed(entries) {
  if (entries.length < 2) return entries.join("");
  const { between } = PAGE.texts.language;
  return sentence("language.last", { first: entries.slice(0, -1).join(between), last: entries.at(-1) });
}

// What an answer of an input is called on this page.
function labelOf(place, code) {
  const entry = RECIPE.inputs[place];
  const block = PAGE.blocks.find((each) => each.places.includes(place));
  if ("low" in entry && !("size" in entry)) return code === 2 ? sentence("form.skip") : sentence("report.end", { number: numeral(code ? entry.high : entry.low) });
  if (block.several) return sentence(`form.${["no", "yes", "skip"][code]}`);
  if (block.labels) return block.labels[code];
  return entry.labels === null ? String(code) : entry.labels[code];
}

// What the question of an input is called; a tick by its item.
function titleOf(place) {
  const block = PAGE.blocks.find((each) => each.places.includes(place));
  const text = block.text || RECIPE.inputs[place].name || sentence("form.answer");
  return block.several ? `${text} ${block.labels[block.places.indexOf(place)]}` : text;
}
