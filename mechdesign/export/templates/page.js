

// The page for respondents. The answer stays in the form, which is emptied; only the report is kept and sent.

(function () {
  const at = (id) => document.getElementById(id);
  let fields = []; // the blocks of the form

  function notice(text) {
    at("notice").textContent = text;
    at("notice").hidden = !text;
  }

  function tellEarlier() {
    at("earlier").textContent = DEVICE.earlier();
    at("earlier").hidden = !at("earlier").textContent;
  }

  function message(kept) {
    const said = { format: "mechdesign-report", version: 1, fingerprint: FINGERPRINT, rows: kept.rows };
    return { ...said, ...(SURVEY === null ? {} : { survey: SURVEY }), ...(DEVICE.token === null ? {} : { token: DEVICE.token }) };
  }

  // The report that rows of a table stand for.
  function reportOf(kept) {
    const list = kept.map((row) => RECIPE.columns.map((name) => row[name]));
    return RECIPE.several ? list : RECIPE.columns.length === 1 ? list[0][0] : list[0];
  }

  function show(before) {
    const kept = DEVICE.kept();
    at("form").hidden = true;
    at("form").reset();
    fields.forEach((field) => field.clear?.());
    at("made").hidden = false;
    at("report").textContent = kept.rows.map((row) => JSON.stringify(row)).join("\n");
    at("plain").replaceChildren(...reportWords(reportOf(kept.rows)).map((line) => element("p", {}, line)));
    at("again").textContent = [before ? DEVICE.answered() : "", before ? sentence("report.before") : "", DEVICE.earlier()].join(" ").trim();
    at("thanks").hidden = !kept.sent;
    at("send").textContent = sentence(PAGE.post ? (kept.sent ? "report.again" : "report.send") : "report.save");
    at("next").hidden = at("unsent").hidden = !PAGE.shared;
    at("heading").focus();
  }

  // The kept report with the number by which a server recognizes it when it is sent again.
  function numbered() {
    const kept = DEVICE.kept();
    if (kept.retry) return kept;
    const bytes = Array.from(crypto.getRandomValues(new Uint8Array(16)));
    DEVICE.keep({ ...kept, retry: bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("") });
    return DEVICE.kept();
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
    if (sent) {
      DEVICE.keep({ ...kept, sent });
      at("unsent").hidden = true;
    }
    at("status").textContent = said;
    at("thanks").hidden = !DEVICE.kept().sent;
    at("send").disabled = false;
  }

  // Draw and keep a report unless there is one, and say whether there was.
  function draw() {
    const before = DEVICE.kept() !== null;
    if (before) return true;
    const keeps = ["joint", "weekly"].includes(RECIPE.steps.step);
    if (keeps && !permanentKept()) rememberNow(answersOf(fields), DEVICE.permanent);
    const made = keeps ? reportNow(DEVICE.permanent, undefined, asksAgain() ? answersOf(fields) : undefined) : randomize(answersOf(fields));
    DEVICE.keep({ rows: rows(made), sent: false });
    return false;
  }

  async function make(event) {
    event.preventDefault();
    if (!valid(fields, at("wrong"))) return;
    at("make").disabled = true;
    try {
      show(await alone(draw, DEVICE.storage()));
    } catch (error) {
      const most = RECIPE.steps.reports ?? RECIPE.steps.weeks;
      notice(exhausted() ? sentence("fault.most", { most }) : sentence("fault.none_made", { reason: error.message }));
    }
    at("make").disabled = false;
  }

  function permanentKept() {
    return ["joint", "weekly"].includes(RECIPE.steps.step) && DEVICE.permanent.getItem(KEY) !== null;
  }

  // Whether the answer may have changed since the permanent response was drawn.
  function asksAgain() {
    return RECIPE.steps.step === "weekly" && RECIPE.steps.most > 1;
  }

  // Whether all reports that a permanent response allows were drawn.
  function exhausted() {
    const most = { joint: RECIPE.steps.reports, weekly: RECIPE.steps.weeks }[RECIPE.steps.step] ?? null;
    return most !== null && permanentKept() && JSON.parse(DEVICE.permanent.getItem(KEY)).made >= most;
  }

  function describe() {
    const promise = SHEET.promise;
    at("type").textContent = SHEET.type;
    at("promise").textContent = promise.epsilon === null ? sentence("experts.guarantee_unknown") : DEVICE.budget(promise.epsilon, promise.delta);
    at("fingerprint").textContent = FINGERPRINT;
    at("survey").textContent = SURVEY ?? sentence("experts.identity_none");
    at("digest").textContent = SHEET.sha256;
  }

  describe();
  at("form").addEventListener("submit", make);
  at("form").addEventListener("input", () => (at("wrong").textContent = ""));
  at("send").addEventListener("click", send);
  at("next").addEventListener("click", DEVICE.next);
  addEventListener("storage", (event) => {
    if (PAGE.shared) return; // what other pages keep here is not of the person at this one
    if (event.key === DEVICE.key && event.newValue && !at("form").hidden) show(true); // made in another tab
    else if (!at("form").hidden) tellEarlier();
  });
  if (PAGE.shared) addEventListener("pageshow", (event) => event.persisted && location.reload()); // not the page of the one before
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
    DEVICE.requireRoom();
    before = DEVICE.kept();
  } catch {
    notice(sentence("fault.storage"));
    return;
  }
  if (before !== null) show(true);
  else {
    if (permanentKept() && !asksAgain()) at("questions").append(element("p", {}, sentence("form.kept")));
    else {
      fields = PAGE.blocks.map(blockOf);
      at("questions").append(...fields.map((field) => field.group));
    }
    tellEarlier();
    at("form").hidden = false;
  }
})();
