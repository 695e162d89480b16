
// What this device keeps, and what it therefore can say: reports by survey, round and link; reports of other
// rounds, links and waves. A device that many people share keeps nothing: what is made stays in the open page.
const DEVICE = (() => {
  const token = new URLSearchParams(location.hash.slice(1)).get("token") || null;
  const round = new URLSearchParams(location.search).get("round") || "1";
  const prefix = `mechdesign report ${OWNER} `;
  const link = token === null ? "" : ` token=${encodeURIComponent(token)}`; // whose link: the place of a report has it
  const key = `${prefix}${encodeURIComponent(round)}${link}`;
  const joint = ["joint", "weekly"].includes(RECIPE.steps.step); // all reports are drawn from what is kept
  const longest = 16; // letters of a link that are shown

  // A storage that ends with the page.
  function memory() {
    const entries = new Map();
    return {
      getItem: (name) => entries.get(name) ?? null,
      setItem: (name, text) => void entries.set(name, text),
      removeItem: (name) => void entries.delete(name),
      key: (place) => [...entries.keys()][place] ?? null,
      get length() {
        return entries.size;
      },
    };
  }

  const inPage = PAGE.shared ? memory() : null;
  const storage = () => inPage ?? localStorage; // a browser may forbid even to look at its own

  // Where the permanent response of this link is kept.
  const permanent = {
    getItem: (name) => storage().getItem(name + link),
    setItem: (name, text) => storage().setItem(name + link, text),
  };

  function kept() {
    const text = storage().getItem(key);
    return text === null ? null : JSON.parse(text);
  }

  function keep(document) {
    storage().setItem(key, JSON.stringify(document));
  }

  // Fails where this device cannot keep a report: asked before the answer is.
  function requireRoom() {
    const probe = `${key} probe`;
    storage().setItem(probe, "x".repeat(4096));
    storage().removeItem(probe);
  }

  // The rounds and links of the reports of a survey, or of a wave, that are kept here.
  function reports(begin) {
    const list = [];
    for (let place = 0; place < storage().length; place++) {
      const name = storage().key(place);
      if (!name.startsWith(begin)) continue;
      const [made, whose, ...more] = name.slice(begin.length).split(" ");
      if (made.startsWith("survey=") || more.length || (whose && !whose.startsWith("token="))) continue;
      list.push({ name, whose: whose ? ` ${whose}` : "" });
    }
    return list;
  }

  // A link as it is shown: long ones by their beginning.
  function linkName(whose) {
    let text = whose.slice(" token=".length);
    try {
      text = decodeURIComponent(text);
    } catch {} // another program wrote it
    return quoted(text.length > longest ? `${text.slice(0, longest)}…` : text);
  }

  function total(each, count) {
    return Number((joint ? each : count * each).toPrecision(12));
  }

  // Epsilon and delta, as they are written.
  function budget(epsilon, delta) {
    const known = `epsilon = ${numeral(epsilon)}`;
    return delta ? sentence("earlier.with_delta", { epsilon: known, delta: `delta = ${numeral(delta)}` }) : known;
  }

  // What several reports of one person give away together, with those of earlier waves that were made here.
  function together(count, waves = []) {
    const { epsilon, delta } = SHEET.promise;
    if (epsilon === null) return sentence("earlier.times", { count });
    const before = (name) => waves.reduce((sum, wave) => sum + wave[name], 0);
    const added = Number((total(epsilon, count) + before("epsilon")).toPrecision(12));
    const deltas = total(delta, count) + before("delta");
    const sum = budget(added, deltas && Math.min(1, Number(deltas.toPrecision(12))));
    if (!joint) return sentence("earlier.total", { count: count + waves.length, sum });
    const most = RECIPE.steps.reports ?? RECIPE.steps.weeks ?? null;
    return most === null ? sentence("earlier.all", { sum }) : sentence("earlier.all_most", { most, sum });
  }

  // What taking part in earlier waves and in this one gives away together: the terms, and their sum.
  function sumOf(waves, count) {
    const { epsilon, delta } = SHEET.promise;
    if (epsilon === null || waves.some((wave) => wave.epsilon === null)) return null;
    const own = Array.from({ length: joint ? 1 : count }, () => epsilon);
    const terms = [...waves.map((wave) => wave.epsilon), ...own];
    const deltas = waves.reduce((sum, wave) => sum + wave.delta, total(delta, count));
    const sum = terms.reduce((left, right) => left + right, 0);
    const known = `${terms.map(numeral).join(" + ")} = ${numeral(Number(sum.toPrecision(12)))}`;
    return { doubles: terms.length === 2 && terms[0] === terms[1], text: budget(known, Math.min(1, Number(deltas.toPrecision(12)))) };
  }

  // The earlier waves that this device has answered; whose total is known.
  function wavesHere() {
    const here = PAGE.shared ? [] : PAGE.earlier.filter((wave) => reports(wave.place).length);
    return here.some((wave) => wave.epsilon === null) ? [] : here;
  }

  // What to say of earlier waves: of those that this device has answered, else in general.
  function waveWords(count) {
    if (!PAGE.earlier.length) return "";
    const here = PAGE.shared ? [] : PAGE.earlier.filter((wave) => reports(wave.place).length);
    const waves = here.length ? here : PAGE.earlier;
    const names = listed(waves.map((wave) => wave.wave || sentence("device.unnamed")));
    const sum = sumOf(waves, count);
    const how = sum === null ? "adds" : sum.doubles ? "doubles" : "sum";
    return sentence(`device.${here.length ? "took_part" : "asked"}_${how}`, { waves: names, sum: sum?.text });
  }

  // What to say of other reports, before and after one is made.
  function earlier() {
    const others = reports(prefix).filter((report) => report.name !== key);
    const rounds = others.filter((report) => report.whose === link).length;
    const links = others.filter((report) => report.whose !== link);
    const lines = [];
    if (rounds) lines.push(`${rounds === 1 ? sentence("earlier.round_one") : sentence("earlier.round_many", { count: rounds })} ${together(rounds + 1)}`);
    if (links.length && joint) lines.push(sentence("earlier.link_joint"));
    else if (links.length) lines.push(`${sentence("earlier.link")} ${together(links.length + rounds + 1, wavesHere())}`);
    const named = [...new Set(links.map((report) => report.whose))].filter(Boolean);
    if (named.length) lines.push(sentence("device.other_links", { links: listed(named.map(linkName)) }));
    lines.push(waveWords(rounds + 1));
    return lines.filter(Boolean).join(" ");
  }

  // That this device has answered, and for whom.
  function answered() {
    return link ? sentence("device.answered_link", { link: linkName(link) }) : sentence("device.answered");
  }

  // The next person at a shared device: a fresh page, without the link of the one before.
  function next() {
    if (location.hash) location.replace("#");
    else location.reload();
  }

  return { token, key, storage, permanent, kept, keep, requireRoom, budget, earlier, answered, next };
})();
