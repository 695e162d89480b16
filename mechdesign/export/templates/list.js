
// Sets of items of a list: ticks, of keys also a number each; a long list can be searched
const MOST_SHOWN = 30;

function itemsField(block, id) {
  const [place] = block.places;
  const entry = RECIPE.inputs[place];
  const pairs = "low" in entry;
  const ids = Array.from({ length: entry.size }, (_, code) => `${id}-${code}`);
  const numbers = ids.map((name, code) => (pairs ? element("input", {
    type: "text", id: name, name, inputmode: entry.low < 0 ? "text" : "decimal", autocomplete: "off", hidden: "",
    "aria-label": labelOf(place, code), "aria-describedby": `${id}-range ${id}-error`,
  }) : null));
  const ticked = choices(place).map((text, code) => option("checkbox", id, code, text, PAGE.lang));
  const rows = ticked.map((label, code) => element("div", { class: "item" }, label, ...(pairs ? [numbers[code]] : [])));
  const none = option("checkbox", `${id}-none`, "none", sentence("form.none"));
  const lead = element("p", { class: "hint", id: `${id}-ticks` }, sentence("items.most", { most: entry.most }));
  const range = pairs ? [element("p", { class: "hint", id: `${id}-range` }, sentence("number.range", { low: numeral(entry.low), high: numeral(entry.high) }))] : [];
  const find = element("input", { type: "text", id: `${id}-find`, autocomplete: "off", "aria-label": sentence("items.find"), placeholder: sentence("items.find") });
  const list = element("div", { class: entry.size > MOST_SHOWN ? "list" : null }, ...rows);
  const group = frame(block, id, false, [`${id}-ticks`], lead, ...range, ...(entry.size > MOST_SHOWN ? [find] : []), list, none);
  const boxes = ticked.map((label) => label.firstChild);
  const chosen = () => boxes.flatMap((box, code) => (box.checked ? [code] : []));
  const value = (code) => readNumber(numbers[code].value, entry.low, entry.high);
  const fields = [...boxes, none.firstChild, ...numbers.filter(Boolean)];
  const said = (fault, wrong) => {
    mark(group, id, "", fields);
    return mark(group, id, fault, wrong);
  };
  const check = () => {
    const codes = chosen();
    if (!codes.length) return none.firstChild.checked ? said("", []) : said(sentence("form.required"), [...boxes, none.firstChild]);
    if (codes.length > entry.most) return said(sentence("items.most", { most: entry.most }), codes.map((code) => boxes[code]));
    const wrong = pairs ? codes.filter((code) => value(code).value === undefined) : [];
    if (!wrong.length) return said("", []);
    return said(`${labelOf(place, wrong[0])}: ${value(wrong[0]).fault || sentence("form.required")}`, wrong.map((code) => numbers[code]));
  };
  group.addEventListener("change", (event) => {
    if (event.target === find) return; // what is searched for is no answer
    if (event.target === none.firstChild && none.firstChild.checked) boxes.forEach((box) => (box.checked = false));
    else if (event.target.checked) none.firstChild.checked = false;
    numbers.forEach((field, code) => {
      if (!field) return;
      field.hidden = !boxes[code].checked;
      if (field.hidden) field.value = "";
    });
    if (!pairs || chosen().length > entry.most) check();
    else said("", []);
  });
  find.addEventListener("input", () => {
    const words = find.value.trim().toLocaleLowerCase();
    rows.forEach((row, code) => (row.hidden = !boxes[code].checked && !row.textContent.toLocaleLowerCase().includes(words)));
  });
  find.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
  const clear = () => { // no answer stays on the page
    numbers.forEach((field) => field && (field.hidden = true));
    rows.forEach((row) => (row.hidden = false));
  };
  const answers = () => {
    const codes = chosen();
    if (!pairs) return [codes.map((code) => answerOf(place, code))];
    return [Object.fromEntries(codes.map((code) => [String(answerOf(place, code)), value(code).value]))];
  };
  return { group, check, clear, answers };
}

// The items that a report names: of keys, each with an end of the range.
function itemWords(step, members, place) {
  const entry = RECIPE.inputs[place];
  const end = (code) => numeral(code & 1 ? entry.high : entry.low);
  const words = (code) => ("low" in entry ? `${quoted(labelOf(place, code >> 1))}: ${sentence("report.end", { number: end(code) })}` : quoted(labelOf(place, code)));
  return [setWords(members, words) || ofSize(members.length, step.items)];
}

const partsOf = (report) => report.split(".").filter(Boolean).map(Number);

Object.assign(REPORTED, {
  items(step, report, [place]) {
    const listed = step.sparse ? (report === "none" ? [] : partsOf(report)) : membersOf(report, 0, step.items);
    return itemWords(step, listed, place);
  },

  "set-hashing"(step, report, [place]) {
    const coefficients = partsOf(report).reverse();
    const at = (item) => coefficients.reduce((sum, each) => (sum * item + each) % step.prime, 0);
    return itemWords(step, Array.from({ length: step.items }, (_, item) => item).filter((item) => at(item) < step.size), place);
  },
});
