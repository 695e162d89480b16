

// The page for respondents. The answer stays in the form, which is emptied; only the report is kept and sent.

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

  let fields = []; // the blocks of the form

  function notice(text) {
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

  // Epsilon and delta, as they are written.
  function budget(epsilon, delta) {
    const known = `epsilon = ${numeral(epsilon)}`;
    return delta ? sentence("earlier.with_delta", { epsilon: known, delta: `delta = ${numeral(delta)}` }) : known;
  }

  // What several reports of one person give away together.
  function together(count) {
    const { epsilon, delta } = SHEET.promise;
    if (epsilon === null) return sentence("earlier.times", { count });
    const joint = RECIPE.steps.step === "joint";
    const total = (each) => Number((joint ? each : count * each).toPrecision(12));
    const sum = budget(total(epsilon), delta && Math.min(1, total(delta)));
    if (!joint) return sentence("earlier.total", { count, sum });
    const most = RECIPE.steps.reports;
    return most === null ? sentence("earlier.all", { sum }) : sentence("earlier.all_most", { most, sum });
  }

  // What to say of other reports; count is how many there are with the one of this page.
  function earlier() {
    const { rounds, links } = others();
    const lines = [];
    if (rounds) lines.push(`${rounds === 1 ? sentence("earlier.round_one") : sentence("earlier.round_many", { count: rounds })} ${together(rounds + 1)}`);
    if (links && RECIPE.steps.step === "joint") lines.push(sentence("earlier.link_joint"));
    else if (links) lines.push(`${sentence("earlier.link")} ${together(links + rounds + 1)}`);
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

  function message(kept) {
    const said = { format: "mechdesign-report", version: 1, fingerprint: FINGERPRINT, rows: kept.rows };
    return { ...said, ...(SURVEY === null ? {} : { survey: SURVEY }), ...(token === null ? {} : { token }) };
  }

  // The report that rows of a table stand for.
  function reportOf(kept) {
    const list = kept.map((row) => RECIPE.columns.map((name) => row[name]));
    return RECIPE.several ? list : RECIPE.columns.length === 1 ? list[0][0] : list[0];
  }

  function show(before) {
    const kept = stored();
    at("form").hidden = true;
    at("form").reset();
    fields.forEach((field) => field.clear?.());
    at("made").hidden = false;
    at("report").textContent = kept.rows.map((row) => JSON.stringify(row)).join("\n");
    at("plain").replaceChildren(...reportWords(reportOf(kept.rows)).map((line) => element("p", {}, line)));
    at("again").textContent = [before ? sentence("report.before") : "", earlier()].join(" ").trim();
    at("thanks").hidden = !kept.sent;
    at("send").textContent = sentence(PAGE.post ? (kept.sent ? "report.again" : "report.send") : "report.save");
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
    const body = JSON.stringify({ ...message(kept), retry: kept.retry });
    const answer = await fetch(PAGE.post, { ...options, body }).catch(() => null);
    if (answer === null) return { said: sentence("report.unreachable") };
    if (answer.status === 409) return { said: sentence("report.received"), sent: true };
    if (answer.status === 400 || answer.status === 403) return { said: sentence("report.wrong_link") };
    if (!answer.ok) return { said: sentence("report.answered", { status: answer.status }) };
    return { said: sentence("report.sent"), sent: true };
  }

  function download(kept) {
    const lines = kept.rows.map((row) => JSON.stringify(row) + "\n").join("");
    const link = element("a", { download: `report_${SURVEY ?? FINGERPRINT.slice(0, 12)}.jsonl` });
    link.href = URL.createObjectURL(new Blob([lines], { type: "application/x-ndjson" }));
    link.click();
    return { said: sentence("report.saved"), sent: true };
  }

  async function send() {
    const kept = numbered();
    at("send").disabled = true;
    at("status").textContent = "";
    const { said, sent } = PAGE.post ? await post(kept) : download(kept);
    if (sent) keep({ ...kept, sent });
    at("status").textContent = said;
    at("thanks").hidden = !stored().sent;
    at("send").disabled = false;
  }

  // Draw and keep a report unless there is one, and say whether there was.
  function draw() {
    const before = stored() !== null;
    if (before) return true;
    const joint = RECIPE.steps.step === "joint";
    if (joint && !permanentKept()) rememberNow(answersOf(fields), device);
    const made = joint ? reportNow(device) : randomize(answersOf(fields));
    keep({ rows: rows(made), sent: false });
    return false;
  }

  async function make(event) {
    event.preventDefault();
    if (!valid(fields, at("wrong"))) return;
    at("make").disabled = true;
    try {
      show(await alone(draw, localStorage));
    } catch (error) {
      const most = RECIPE.steps.reports;
      notice(exhausted() ? sentence("fault.most", { most }) : sentence("fault.none_made", { reason: error.message }));
    }
    at("make").disabled = false;
  }

  function permanentKept() {
    return RECIPE.steps.step === "joint" && device.getItem(KEY) !== null;
  }

  // Whether all reports that a permanent response allows were drawn.
  function exhausted() {
    const most = RECIPE.steps.step === "joint" ? RECIPE.steps.reports : null;
    return most !== null && permanentKept() && JSON.parse(device.getItem(KEY)).made >= most;
  }

  function describe() {
    const promise = SHEET.promise;
    at("type").textContent = SHEET.type;
    at("promise").textContent = promise.epsilon === null ? sentence("experts.guarantee_unknown") : budget(promise.epsilon, promise.delta);
    at("fingerprint").textContent = FINGERPRINT;
    at("survey").textContent = SURVEY ?? sentence("experts.identity_none");
    at("digest").textContent = SHEET.sha256;
  }

  describe();
  at("form").addEventListener("submit", make);
  at("form").addEventListener("input", () => (at("wrong").textContent = ""));
  at("send").addEventListener("click", send);
  addEventListener("storage", (event) => {
    if (event.key === key && event.newValue && !at("form").hidden) show(true); // made in another tab
    else if (!at("form").hidden) tellEarlier();
  });
  addEventListener("hashchange", () => location.reload()); // another link, of which the browser loads nothing
  try {
    check();
  } catch {
    notice(sentence("fault.damaged"));
    return;
  }
  try {
    system();
  } catch {
    notice(sentence("fault.generator"));
    return;
  }
  let before = null;
  try {
    requireStorage();
    before = stored();
  } catch {
    notice(sentence("fault.storage"));
    return;
  }
  if (before !== null) show(true);
  else {
    if (permanentKept()) at("questions").append(element("p", {}, sentence("form.kept")));
    else {
      fields = PAGE.blocks.map(blockOf);
      at("questions").append(...fields.map((field) => field.group));
    }
    tellEarlier();
    at("form").hidden = false;
  }
})();
