
// What a report says, in words: of which questions it is, and what it reports of each
const MOST_NAMED = 6;

// A cell of a table over some inputs as the answers in it; of a number that was rounded, the end.
function cellWords(cell, places) {
  const sizes = RECIPE.steps.sizes;
  const words = [];
  for (const place of [...places].reverse()) {
    const number = "low" in RECIPE.inputs[place] && !("size" in RECIPE.inputs[place]);
    const size = number ? (sizes ? sizes[place] : 2) : RECIPE.inputs[place].size;
    const code = cell % size;
    words.unshift(number && code < 2 ? labelOf(place, code) : quoted(labelOf(place, code)));
    cell = Math.floor(cell / size);
  }
  return words;
}

function setWords(members, words) {
  if (!members.length) return sentence("report.nothing");
  if (members.length === 1) return words(members[0]);
  if (members.length > MOST_NAMED) return null;
  return sentence("report.set", { values: listed(members.map(words)) });
}

function membersOf(text, start, size) {
  const bytes = unhex(text.slice(1));
  return Array.from({ length: size }, (_, place) => place).filter((place) => (bytes[(start + place) >> 3] >> (7 - ((start + place) & 7))) & 1);
}

function ofSize(count, size) {
  return sentence("report.subset", { count, size });
}

function setOf(step, report, places) {
  const size = step.categories || step.size;
  const members = membersOf(report, 0, size);
  const words = (cell) => (places.length > 1 ? `(${cellWords(cell, places).join(", ")})` : cellWords(cell, places)[0]);
  return [setWords(members, words) || ofSize(members.length, size)];
}

// What a step reports of some inputs: one text for each, or one for all of them.
const REPORTED = {
  kary: (step, report, places) => cellWords(step.labels ? step.labels.indexOf(report) : Number(report), places),
  row: (step, report) => (step.labels ? [quoted(report)] : null),
  bit: (step, report, [place]) => [labelOf(place, Number(report))],
  bits: setOf,
  subset: setOf,
  patterns(step, report, [place]) {
    if (step.types !== RECIPE.inputs[place].size) return null;
    const members = Array.from({ length: step.types }, (_, code) => code).filter((code) => holds(step.sets[Number(report)], code));
    return [setWords(members, (code) => cellWords(code, [place])[0]) || ofSize(members.length, step.types)];
  },
  weekly(step, report, places) {
    const bytes = unhex(report.slice(1));
    const front = bytes.slice(0, bytes.length - ((step.count + 7) >> 3));
    const set = bytes.slice(front.length);
    const fits = (code) => (step.cells !== "bins" || holds(front, code)) && holds(set, cellOf(step, front, code));
    const members = Array.from({ length: step.categories }, (_, code) => code).filter(fits);
    return [setWords(members, (code) => cellWords(code, places)[0]) || ofSize(members.length, step.categories)];
  },
  sets(step, report, places) {
    if (step.joined) return null;
    let start = 0;
    return step.factors.map(([size], turn) => {
      const members = membersOf(report, start, size);
      start += size;
      return setWords(members, (code) => cellWords(code, [places[turn]])[0]) || ofSize(members.length, size);
    });
  },
};

function partWords(step, report, places) {
  const words = step.step in REPORTED ? REPORTED[step.step](step, report, places) : null;
  return words || [sentence("report.code", { code: String(report) })];
}

// Returns { places, values }: the inputs that were drawn, and what is reported of them.
function contents(report) {
  const step = RECIPE.steps;
  const all = RECIPE.inputs.map((_, place) => place);
  const joined = (parts) => ({ places: parts.flatMap(([places]) => places), values: parts.flatMap(([, words]) => words) });
  if (step.step === "survey") {
    const [number, ...rest] = report.split(":");
    const texts = rest.join(":").split("|");
    return joined(step.designs[Number(number)].map(({ questions, draw }, turn) => [questions, partWords(draw, texts[turn], questions)]));
  }
  if (step.step === "view") {
    const places = step.views[report[0]];
    return joined([[places, partWords(step.oracles[step.oracle_of_view[report[0]]], report[1], places)]]);
  }
  if (step.step === "sample") return joined(report.map(([place, each]) => [[place], partWords(step.each, each, [place])]));
  return { places: all, values: partWords(step, report, all) };
}

// The report in sentences.
function reportWords(report) {
  const { places, values } = contents(report);
  const simple = values.every((value) => !/[,;(]/.test(value));
  const lines = [sentence("report.reports", { values: simple ? listed(values) : values.join(PAGE.texts.language.semicolon) })];
  if (RECIPE.inputs.length > 1) {
    const questions = listed(places.map((place) => quoted(titleOf(place))));
    lines.unshift(sentence(places.length === 1 ? "report.about_one" : "report.about_many", { questions }));
    if (places.length < RECIPE.inputs.length) lines.push(sentence("report.others"));
  }
  return lines;
}
