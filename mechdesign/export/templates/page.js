
// The page for respondents. The answer stays in the form, which is emptied; only the report is kept and sent.
const PAGE =
@@PAGE@@;

(function () {
  const at = (id) => document.getElementById(id);
  const address = new URLSearchParams(location.search);
  const round = address.get("round") || "1";
  const token = new URLSearchParams(location.hash.slice(1)).get("token") || null;
  const prefix = `mechdesign report ${OWNER} `;
  const owner = token === null ? "" : ` token=${encodeURIComponent(token)}`; // whose link: the place of a report has it
  const key = `${prefix}${encodeURIComponent(round)}${owner}`;
  const device = { // where the permanent response of this link is kept
    getItem: (name) => localStorage.getItem(name + owner),
    setItem: (name, text) => localStorage.setItem(name + owner, text),
  };

  function say(text) {
    at("notice").textContent = text;
    at("notice").hidden = !text;
  }

  function stored() {
    const text = localStorage.getItem(key);
    return text === null ? null : JSON.parse(text);
  }

  function keep(document) {
    localStorage.setItem(key, JSON.stringify(document));
  }

  // The other reports of this survey that this device has made: for this link in other rounds, and for other links.
  function others() {
    const found = { rounds: 0, links: 0 };
    for (let place = 0; place < localStorage.length; place++) {
      const name = localStorage.key(place);
      if (name === key || !name.startsWith(prefix)) continue;
      const [made, link, ...more] = name.slice(prefix.length).split(" ");
      if (made.startsWith("survey=") || more.length || (link && !link.startsWith("token="))) continue;
      found[(link ? ` ${link}` : "") === owner ? "rounds" : "links"]++;
    }
    return found;
  }

  // What several reports of one person give away together.
  function together(count) {
    const { epsilon, delta } = SHEET.promise;
    if (epsilon === null) return `${count} reports give away ${count} times what one does.`;
    const joint = RECIPE.steps.step === "joint";
    const total = (each) => Number((joint ? each : count * each).toPrecision(12));
    const sum = `epsilon = ${total(epsilon)}${delta ? ` and delta = ${Math.min(1, total(delta))}` : ""}`;
    if (joint) return `All reports of one person together${RECIPE.steps.reports === null ? "" : `, at most ${RECIPE.steps.reports},`} give away ${sum}.`;
    return `${count} reports of one person give away ${sum} in total.`;
  }

  // What to say of other reports; count is how many there are with the one of this page.
  function earlier() {
    const { rounds, links } = others();
    const lines = [];
    if (rounds) lines.push(`This device has made ${rounds === 1 ? "a report" : `${rounds} reports`} for this survey in another round before. ${together(rounds + 1)}`);
    if (links && RECIPE.steps.step === "joint") lines.push("This device has answered this survey for another link. If that was you, answering again gives away as much once more.");
    else if (links) lines.push(`This device has answered this survey for another link. If that was you, another report gives away more: ${together(links + rounds + 1)}`);
    return lines.join(" ");
  }

  function tellEarlier() {
    at("earlier").textContent = earlier();
    at("earlier").hidden = !at("earlier").textContent;
  }

  // Whether this device can keep a report at all: asked before the answer is.
  function requireStorage() {
    const probe = `${key} probe`;
    localStorage.setItem(probe, "x".repeat(4096));
    localStorage.removeItem(probe);
  }

  function asked(entry) {
    return entry.name === null || RECIPE.single ? PAGE.question || entry.name || "Your answer" : entry.name;
  }

  function element(tag, attributes, text) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function choices(entry) {
    return entry.labels || Array.from({ length: entry.size }, (_, place) => String(place));
  }

  function radios(entry, place) {
    const group = element("fieldset");
    group.append(element("legend", {}, asked(entry)));
    choices(entry).forEach((text, code) => {
      const option = element("label", { class: "option" });
      option.append(element("input", { type: "radio", name: `q${place}`, value: code, required: "" }), text);
      group.append(option);
    });
    return group;
  }

  // A field for a number, its range, and a line that shows how the number is read while it is typed.
  function numberField(entry, name) {
    const mode = entry.low < 0 ? "text" : "decimal"; // keyboards of decimals may have no minus
    const input = element("input", { type: "text", id: name, name, inputmode: mode, required: "", "aria-describedby": `${name}-hint ${name}-read` });
    const read = element("output", { class: "hint", id: `${name}-read`, for: name });
    const show = () => {
      const { value, fault } = readNumber(input.value, entry.low, entry.high);
      input.setCustomValidity(fault || "");
      read.textContent = fault || (value === undefined ? "" : `You entered ${value}`);
    };
    input.addEventListener("input", show);
    at("form").addEventListener("reset", () => (read.textContent = "")); // no answer stays on the page
    return [input, element("div", { class: "hint", id: `${name}-hint` }, `a number from ${entry.low} to ${entry.high}`), read];
  }

  function field(entry, place) {
    if (!("low" in entry) && entry.size <= 12) return radios(entry, place);
    const group = element("fieldset");
    group.append(element("label", { class: "asked", for: `q${place}` }, asked(entry)));
    if ("low" in entry) {
      group.append(...numberField(entry, `q${place}`));
      return group;
    }
    const select = element("select", { id: `q${place}`, name: `q${place}`, required: "" });
    const options = document.createDocumentFragment();
    options.append(element("option", { value: "" }, "Please choose"));
    choices(entry).forEach((text, code) => options.append(element("option", { value: code }, text)));
    select.append(options);
    group.append(select);
    return group;
  }

  function answerOf(form) {
    const given = new FormData(form);
    const list = RECIPE.inputs.map((entry, place) => {
      const text = given.get(`q${place}`);
      if ("low" in entry) return readNumber(text, entry.low, entry.high).value;
      return entry.labels === null ? Number(text) : entry.labels[Number(text)];
    });
    return RECIPE.single ? list[0] : list;
  }

  function message(kept) {
    const said = { format: "mechdesign-report", version: 1, fingerprint: FINGERPRINT, rows: kept.rows };
    return { ...said, ...(SURVEY === null ? {} : { survey: SURVEY }), ...(token === null ? {} : { token }) };
  }

  function show(before) {
    const kept = stored();
    at("form").hidden = true;
    at("form").reset();
    at("made").hidden = false;
    at("report").textContent = kept.rows.map((row) => JSON.stringify(row)).join("\n");
    const value = kept.rows.length === 1 ? kept.rows[0][RECIPE.columns[0]] : null;
    at("plain").textContent = RECIPE.steps.labels ? value : ""; // of one name, beside the row that is sent
    at("plain").hidden = !at("plain").textContent;
    at("again").textContent = [before ? "This report was made before on this device; a second answer would weaken your privacy." : "", earlier()].join(" ").trim();
    at("send").textContent = PAGE.post ? (kept.sent ? "Send again" : "Send this report") : "Save this report";
    at("heading").focus();
  }

  // The kept report with the number by which a server recognizes it when it is sent again.
  function numbered() {
    const kept = stored();
    if (kept.retry) return kept;
    const bytes = Array.from(crypto.getRandomValues(new Uint8Array(16)));
    keep({ ...kept, retry: bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("") });
    return stored();
  }

  async function post(kept) {
    const options = { method: "POST", headers: { "Content-Type": "application/json" }, credentials: "omit", referrerPolicy: "no-referrer" };
    const answer = await fetch(PAGE.post, { ...options, body: JSON.stringify({ ...message(kept), retry: kept.retry }) });
    if (answer.status === 409) return "A report was already received for this link; this one does not count.";
    if (answer.status === 400 || answer.status === 403) throw Object.assign(new Error("this link is incomplete or wrong"), { remedy: "open the link that you were sent" });
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    return "Sent. Thank you.";
  }

  function download(kept) {
    const lines = kept.rows.map((row) => JSON.stringify(row) + "\n").join("");
    const link = element("a", { download: `report_${SURVEY ?? FINGERPRINT.slice(0, 12)}.jsonl` });
    link.href = URL.createObjectURL(new Blob([lines], { type: "application/x-ndjson" }));
    link.click();
  }

  async function send() {
    const kept = numbered();
    at("send").disabled = true;
    at("status").textContent = "";
    try {
      let said = "Saved. Send this file to the people who asked you.";
      if (PAGE.post) said = await post(kept);
      else download(kept);
      keep({ ...kept, sent: true });
      at("status").textContent = said;
    } catch (error) {
      at("status").textContent = `Not sent: ${error.message}. Your report is kept; ${error.remedy ?? "try again later"}.`;
    }
    at("send").disabled = false;
  }

  // Draw and keep a report unless there is one, and say whether there was.
  function draw() {
    const before = stored() !== null;
    if (before) return true;
    const joint = RECIPE.steps.step === "joint";
    if (joint && !permanentKept()) rememberNow(answerOf(at("form")), device);
    const made = joint ? reportNow(device) : randomize(answerOf(at("form")));
    keep({ rows: rows(made), sent: false });
    return false;
  }

  async function make(event) {
    event.preventDefault();
    at("make").disabled = true;
    try {
      show(await alone(draw, localStorage));
    } catch (error) {
      say(`No report was made: ${error.message}`);
    }
    at("make").disabled = false;
  }

  function permanentKept() {
    return RECIPE.steps.step === "joint" && device.getItem(KEY) !== null;
  }

  function describe() {
    const promise = SHEET.promise;
    const delta = promise.delta ? `, delta = ${promise.delta}` : "";
    at("type").textContent = SHEET.type;
    at("promise").textContent = promise.epsilon === null ? "see the mechanism file" : `epsilon = ${promise.epsilon}${delta}`;
    at("fingerprint").textContent = FINGERPRINT;
    at("survey").textContent = SURVEY ?? "none: this page cannot tell two surveys with the same answers apart";
    at("digest").textContent = SHEET.sha256;
  }

  describe();
  at("form").addEventListener("submit", make);
  at("send").addEventListener("click", send);
  addEventListener("storage", (event) => {
    if (event.key === key && event.newValue && !at("form").hidden) show(true); // made in another tab
    else if (!at("form").hidden) tellEarlier();
  });
  addEventListener("hashchange", () => location.reload()); // another link, of which the browser loads nothing
  try {
    check();
    system();
  } catch (error) {
    say(`This page cannot make a report: ${error.message}.`);
    return;
  }
  let before = null;
  try {
    requireStorage();
    before = stored();
  } catch {
    say("This browser does not let the page keep your report: its storage is blocked or full. Without it, answering twice would weaken your privacy. Allow storage for this page, or make room, and load it again.");
    return;
  }
  if (before !== null) show(true);
  else {
    if (permanentKept()) at("questions").append(element("p", {}, "Your answers are kept on this device in randomized form; the next report is drawn from that."));
    else at("questions").append(...RECIPE.inputs.map(field));
    if (PAGE.question && !RECIPE.single) at("questions").prepend(element("p", { class: "lead" }, PAGE.question));
    tellEarlier();
    at("form").hidden = false;
  }
})();
