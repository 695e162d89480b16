
// The form: a block for each question, which can say what is missing, and what was answered
const MOST_RADIOS = 12;

function element(tag, attributes, ...content) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) if (value !== null) made.setAttribute(name, value);
  made.append(...content);
  return made;
}

function choices(place) {
  const entry = RECIPE.inputs[place];
  return Array.from({ length: entry.size }, (_, code) => labelOf(place, code));
}

function option(type, name, value, text, lang = null) {
  return element("label", { class: "option" }, element("input", { type, name, value, autocomplete: "off" }), element("span", { lang }, text));
}

// The ids of what describes the fields of a block: hint, range, silence, how a number was read, and the error.
function described(block, id, more = []) {
  return [...(block.hint ? [`${id}-hint`] : []), `${id}-error`, ...more, ...(block.silence ? [`${id}-silence`] : [])].join(" ");
}

// A frame around the fields of a block; several fields are a group with the question as its legend.
function frame(block, id, single, more, ...fields) {
  const text = block.text || sentence("form.answer");
  const group = single ? element("div", { class: "question" }) : element("fieldset", { class: "question", "aria-describedby": described(block, id, more) });
  group.append(single ? element("label", { class: "asked", for: id, lang: PAGE.lang }, text) : element("legend", { lang: PAGE.lang }, text));
  if (block.hint) group.append(element("p", { class: "hint", id: `${id}-hint`, lang: PAGE.lang }, block.hint));
  group.append(element("p", { class: "error", id: `${id}-error` }), ...fields);
  if (block.silence) group.append(element("p", { class: "hint", id: `${id}-silence` }, block.silence));
  return group;
}

// Shows what is wrong with a block, or nothing; returns whether it is right.
function mark(group, id, fault, fields) {
  group.querySelector(`#${id}-error`).textContent = fault;
  for (const field of fields) {
    if (fault) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  }
  return !fault;
}

// Each kind of block returns { group, check, answers }: the element, a function that shows what is wrong, and
// one that returns the answers to its inputs by their places.

function radios(block, id) {
  const [place] = block.places;
  const group = frame(block, id, false, [], ...choices(place).map((text, code) => option("radio", id, code, text, PAGE.lang)));
  const inputs = [...group.querySelectorAll("input")];
  inputs.forEach((input) => input.setAttribute("required", ""));
  const chosen = () => inputs.find((input) => input.checked);
  const check = () => mark(group, id, chosen() ? "" : sentence("form.required"), inputs);
  group.addEventListener("change", check);
  return { group, check, answers: () => [answerOf(place, Number(chosen().value))] };
}

function select(block, id) {
  const [place] = block.places;
  const field = element("select", { id, name: id, required: "", autocomplete: "off", "aria-describedby": described(block, id) });
  const options = document.createDocumentFragment();
  options.append(element("option", { value: "" }, sentence("form.choose")));
  choices(place).forEach((text, code) => options.append(element("option", { value: code }, text)));
  field.append(options);
  const group = frame(block, id, true, [], field);
  const check = () => mark(group, id, field.value === "" ? sentence("form.required") : "", [field]);
  field.addEventListener("change", check);
  return { group, check, answers: () => [answerOf(place, Number(field.value))] };
}

// A field for a number, its range, and a line that shows how the number is read while it is typed.
function numberField(block, id) {
  const [place] = block.places;
  const { low, high } = RECIPE.inputs[place];
  const more = [`${id}-range`, `${id}-read`];
  const mode = low < 0 ? "text" : "decimal"; // keyboards of decimals may have no minus
  const attributes = { type: "text", id, name: id, inputmode: mode, autocomplete: "off", "aria-describedby": described(block, id, more) };
  const input = element("input", block.skip ? attributes : { ...attributes, required: "" });
  const range = element("p", { class: "hint", id: `${id}-range` }, sentence("number.range", { low: numeral(low), high: numeral(high) }));
  const read = element("output", { class: "hint", id: `${id}-read`, for: id });
  const skip = block.skip ? option("checkbox", `${id}-skip`, "1", sentence("form.skip")) : null;
  const skipped = () => skip !== null && skip.firstChild.checked;
  const group = frame(block, id, true, more, range, input, read, ...(skip ? [skip] : []));
  const fault = () => {
    const said = readNumber(input.value, low, high);
    return said.fault || (said.value === undefined ? sentence("form.required") : "");
  };
  const check = () => mark(group, id, skipped() ? "" : fault(), [input]);
  input.addEventListener("input", () => {
    const { value, fault } = readNumber(input.value, low, high);
    input.setCustomValidity(fault || "");
    read.textContent = fault || (value === undefined ? "" : readAloud(input.value, value));
    if (!fault) mark(group, id, "", [input]);
  });
  if (skip) {
    skip.addEventListener("change", () => {
      input.disabled = skipped();
      input.value = skipped() ? "" : input.value;
      input.dispatchEvent(new Event("input"));
    });
  }
  const clear = () => (read.textContent = ""); // no answer stays on the page
  return { group, check, clear, answers: () => [skipped() ? null : readNumber(input.value, low, high).value] };
}

// A field for a text, its alphabet, and what is wrong with it while it is typed. Spelling is not checked: browsers
// may send what is typed to a service for that.
function textField(block, id) {
  const asked = RECIPE.inputs[block.places[0]];
  const words = Object.entries(asked.words || {}).sort(([, first], [, second]) => (first < second ? -1 : 1)); // as in the alphabet
  const symbols = words.map(([symbol]) => symbol).join(" ");
  const more = symbols ? [`${id}-symbols`] : [];
  const input = element("input", {
    type: "text", id, name: id, required: "", autocomplete: "off", autocapitalize: "none", autocorrect: "off", spellcheck: "false",
    "aria-describedby": described(block, id, more),
  });
  const hint = symbols ? [element("p", { class: "hint", id: `${id}-symbols` }, sentence("text.symbols", { symbols }))] : [];
  const group = frame(block, id, true, more, ...hint, input);
  const value = () => input.value.trim();
  const fault = () => {
    const coded = wordsOf(asked, value());
    const strange = coded.find((word) => typeof word !== "string");
    if (strange) return sentence("text.outside", { symbol: quoted(strange.symbol) });
    return coded.join("").length > asked.bits ? sentence("text.long") : "";
  };
  const check = () => mark(group, id, value() ? fault() : sentence("form.required"), [input]);
  input.addEventListener("input", () => mark(group, id, fault(), [input]));
  return { group, check, answers: () => [value()] };
}

// Ticks: a yes-or-no input for each item, and "none of these", so that nothing is left out by accident.
function ticks(block, id) {
  const items = block.labels.map((text, turn) => option("checkbox", id, turn, text, PAGE.lang));
  const none = option("checkbox", `${id}-none`, "none", sentence("form.none"));
  const skip = block.skip ? option("checkbox", `${id}-skip`, "skip", sentence("form.skip")) : null;
  const alone = [none, ...(skip ? [skip] : [])];
  const lead = element("p", { class: "hint", id: `${id}-ticks` }, sentence("form.several"));
  const group = frame(block, id, false, [`${id}-ticks`], lead, ...items, ...alone);
  const inputs = [...group.querySelectorAll("input")];
  const check = () => mark(group, id, inputs.some((input) => input.checked) ? "" : sentence("form.required"), inputs);
  group.addEventListener("change", (event) => { // "none" and "no answer" stand alone
    const own = alone.some((label) => label.contains(event.target));
    if (event.target.checked) {
      for (const input of inputs) if (input !== event.target && (own || alone.some((label) => label.contains(input)))) input.checked = false;
    }
    check();
  });
  const answers = () => items.map((label, turn) => {
    const place = block.places[turn];
    if (skip && skip.firstChild.checked) return answerOf(place, 2);
    return answerOf(place, label.firstChild.checked ? 1 : 0);
  });
  return { group, check, answers };
}

// An answer as the client takes it.
function answerOf(place, code) {
  const { labels } = RECIPE.inputs[place];
  return labels === null ? code : labels[code];
}

function blockOf(block, turn) {
  const id = `q${turn}`;
  const entry = RECIPE.inputs[block.places[0]];
  if (block.several) return ticks(block, id);
  if ("most" in entry) return itemsField(block, id);
  if ("low" in entry) return numberField(block, id);
  if ("words" in entry) return textField(block, id);
  return entry.size <= MOST_RADIOS ? radios(block, id) : select(block, id);
}

// The answers to all inputs, in their order.
function answersOf(fields) {
  const list = [];
  fields.forEach((field, turn) => {
    field.answers().forEach((answer, index) => (list[PAGE.blocks[turn].places[index]] = answer));
  });
  return RECIPE.single ? list[0] : list;
}

// Shows what is wrong, moves to the first wrong question, and returns whether nothing is.
function valid(fields, summary) {
  const wrong = fields.filter((field) => !field.check());
  summary.textContent = wrong.length === 0 ? "" : wrong.length === 1 ? sentence("form.errors_one") : sentence("form.errors_many", { count: wrong.length });
  if (wrong.length) wrong[0].group.querySelector("input:not(:disabled), select").focus();
  return !wrong.length;
}
