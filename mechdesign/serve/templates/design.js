"use strict";
// The design room: what is typed changes the draft (the content of the survey file), which is saved at once;
// margins, faults and sentences come from the server.
(() => {
  const byId = (id) => document.getElementById(id);
  const content = JSON.parse(byId("draft-data").textContent);
  const words = content.words;
  const csrf = document.querySelector("meta[name=csrf]").content;
  let address = location.pathname.replace(/\/$/, "");
  let draft = content.document, base = content.base;
  const fill = (text, parts) => text.replace(/\{([a-z_]+)\}/g, (whole, name) => name in parts ? parts[name] : whole);
  const show = (element, text) => { element.textContent = text; element.hidden = !text; };
  const make = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  };
  const page = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16)).join("");
  const post = async (name, body, query = {}) => {
    const answer = await fetch(`${address}/${name}?${new URLSearchParams({ ...query, page })}`, {
      method: "POST", body, headers: { "X-CSRF-Token": csrf, "Content-Type": "application/json" },
      keepalive: body.length < 60000,
    });
    const said = await answer.json().catch(() => ({ refused: `${answer.status}` }));
    said.status = answer.status;
    return said;
  };

  const moved = (slug) => { // a survey is called after its title until it is built
    const former = address.split("/").at(-2);
    if (!slug || slug === former) return;
    const renamed = (path) => path.replace(`/s/${former}/`, `/s/${slug}/`);
    for (const link of document.querySelectorAll("a[href]")) link.href = renamed(link.getAttribute("href"));
    for (const field of document.getElementsByName("back")) field.value = renamed(field.value);
    byId("download").textContent = byId("download").textContent.replace(`${former}.toml`, `${slug}.toml`);
    address = renamed(address);
    history.replaceState(null, "", address);
  };

  // Numbers and lists as they are typed
  const decimal = (number) => String(number).replace(".", content.decimal);
  const number = (text) => {
    const tidy = text.trim().replace(/[\s\u00a0\u202f']/g, "");
    const plain = /^[+-]?\d+,\d+$/.test(tidy) && content.decimal === "," ? tidy.replace(",", ".") : tidy;
    return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) && isFinite(plain) ? Number(plain) : text.trim();
  };
  const whole = (text) => {
    const tidy = text.trim().replace(/[\s\u00a0\u202f']/g, "").replace(/^(\d{1,3})([.,]\d{3})+$/, (all) => all.replace(/[.,]/g, ""));
    return number(tidy === text.trim() ? text : tidy);
  };
  const list = (text) => {
    let parts = text.split(/;|,\s+|\s+/).filter((part) => part.trim());
    if (parts.length === 1) parts = parts[0].split(",");
    return parts.map((part) => number(part));
  };
  const listed = (values) => (Array.isArray(values) ? values.map(decimal).join("; ") : String(values ?? ""));
  const is_number = (question) => (question.kind ?? ("range" in question ? "number" : "categorical")) === "number";
  const factor = (question) => (question && is_number(question) && !(question.bins ?? []).length ? 1 : 100) * content.normal;
  const margin_text = (error, scale) => (typeof error === "number" ? decimal(Number((scale * error).toPrecision(4))) : String(error ?? ""));
  const margin_value = (text, scale) => {
    const value = number(text);
    return typeof value === "number" ? Number((value / scale).toPrecision(6)) : value;
  };
  const put = (table, key, value) => {
    if (value === undefined || value === "" || (Array.isArray(value) && !value.length)) delete table[key];
    else table[key] = value;
  };

  // Saving: one request at a time, the newest draft last
  let dirty = false, sending = false, timer = 0, blocked = false, touched = false, titled = false;
  const changed = () => {
    dirty = touched = true;
    byId("saved").textContent = words.saving;
    clearTimeout(timer);
    timer = setTimeout(save, 250);
  };
  const save = async () => {
    clearTimeout(timer);
    if (sending || blocked || !dirty) return;
    sending = true;
    dirty = false;
    const query = titled ? { base, titled } : { base };
    titled = false;
    try {
      const said = await post("draft", JSON.stringify(draft), query);
      if (said.conflict && !touched) { // what was typed before a reload came after this page was made
        sending = false;
        location.reload();
      } else if (said.conflict) {
        blocked = true;
        byId("conflict").hidden = false;
        byId("saved").textContent = words.conflict;
      } else if (said.refused) {
        byId("saved").textContent = fill(words.refused, { reason: said.refused });
      } else {
        base = said.base;
        moved(said.slug);
        if (!dirty) {
          byId("saved").textContent = words.saved;
          judge(said);
        }
      }
    } catch {
      dirty = true;
      titled = titled || "titled" in query;
      byId("saved").textContent = words.unsaved;
      timer = setTimeout(save, 3000);
      sending = false;
      return;
    }
    sending = false;
    if (dirty) save();
  };
  addEventListener("pagehide", () => { if (dirty && !sending) save(); });
  addEventListener("beforeunload", (event) => { if (dirty || sending) event.preventDefault(); });
  byId("keep-mine").addEventListener("click", () => {
    base = "";
    blocked = false;
    byId("conflict").hidden = true;
    dirty = true;
    save();
  });
  byId("take-theirs").addEventListener("click", () => { dirty = sending = false; location.reload(); });

  // Faults, next to their entries
  const cards = byId("cards");
  const fault_of = (place) => {
    const [table, name, ...rest] = place.split(".");
    if (table === "survey") return byId(`survey-${[name, ...rest].join("-")}-fault`) ?? byId(`survey-${name}-fault`);
    if (table !== "questions") return byId("whole-fault");
    const card = cards.children[name];
    if (!card) return byId("questions-fault");
    const own = rest.length && card.querySelector(`[id$="-${CSS.escape(rest[0])}-fault"]`);
    return own && !own.closest("[data-entry]").hidden && !own.closest("[data-forms][hidden]") ? own : card.querySelector("[data-place]");
  };
  const control_of = (fault) => fault.closest("[data-entry], .card")?.querySelector("input, select, textarea");
  let first_fault = null;
  const judge = (said) => {
    for (const old of document.querySelectorAll(".fault[data-said]")) {
      show(old, "");
      delete old.dataset.said;
      control_of(old)?.removeAttribute("aria-invalid");
    }
    let count = 0;
    first_fault = null;
    for (const fault of said.faults) {
      const place = fault_of(fault.place) ?? byId("whole-fault");
      show(place, place.hidden ? fault.text : `${place.textContent} ${fault.text}`);
      place.dataset.said = "";
      place.classList.toggle("remark", fault.remark);
      if (fault.english) place.lang = "en"; else place.removeAttribute("lang");
      if (fault.remark) continue;
      count += 1;
      first_fault = first_fault ?? place;
      if (place.closest("[data-entry]")) control_of(place)?.setAttribute("aria-invalid", "true");
      const more = place.closest("details");
      if (more) more.open = true;
    }
    byId("marked-text").textContent = count === 1 ? words.marked_one : fill(words.marked_many, { count });
    byId("marked").hidden = !count;
    byId("line").textContent = said.line;
    risk(said.risk);
    if (said.buildable) margins(); else without_margins("");
    byId("build")?.toggleAttribute("disabled", !said.buildable);
  };
  byId("marked-go").addEventListener("click", () => {
    const control = first_fault && (control_of(first_fault) ?? byId("add"));
    if (control) { control.scrollIntoView({ block: "center" }); control.focus({ preventScroll: true }); }
  });
  const risk = (said) => {
    byId("risk").hidden = !said;
    if (!said) return;
    byId("risk").className = `level-${said.level}`;
    byId("risk-percent").textContent = said.percent;
    byId("risk-verdict").textContent = said.verdict;
    byId("risk-sentence").textContent = said.sentence;
  };

  // Margins: the newest question alone is answered
  let newest = 0, waiting = 0, last_rows = "";
  const busy = (is_busy) => { byId("busy").hidden = !is_busy; byId("margins").classList.toggle("old", is_busy); };
  const without_margins = (refused) => {
    newest += 1;
    clearTimeout(waiting);
    busy(false);
    byId("margins").hidden = true;
    byId("no-margins").hidden = Boolean(refused);
    show(byId("refused"), refused);
    byId("computed").hidden = true;
    for (const output of cards.querySelectorAll("output")) output.textContent = "–";
  };
  const margins = async () => {
    const mine = ++newest;
    clearTimeout(waiting);
    waiting = setTimeout(() => busy(true), 300);
    let said;
    try {
      said = await post("margins", JSON.stringify(draft));
    } catch {
      said = { refused: words.unsaved };
    }
    if (mine !== newest || said.overtaken) return;
    clearTimeout(waiting);
    busy(false);
    if (said.line) byId("line").textContent = said.line;
    if (said.refused) return without_margins(said.refused);
    show(byId("refused"), "");
    byId("no-margins").hidden = true;
    byId("margins").hidden = false;
    const content_of_rows = JSON.stringify(said.rows);
    if (content_of_rows !== last_rows) { // what was studied was another survey
      for (const id of ["ways-result", "curves-result", "build-result"]) byId(id)?.replaceChildren();
      last_rows = content_of_rows;
    }
    const body = byId("margins").tBodies[0], needed = said.rows.some((row) => row.needed);
    const head = byId("margins").tHead.rows[0];
    if (head.cells.length > 2) head.lastChild.remove();
    if (needed) {
      const cell = make("th", words.column_needed, "number");
      cell.scope = "col";
      head.append(cell);
    }
    body.replaceChildren(...said.rows.map((row) => {
      const line = make("tr");
      const first = make("th", row.name);
      first.scope = "row";
      line.append(first, make("td", row.text, row.useless ? "number useless" : "number"));
      if (needed) line.append(make("td", row.needed, "number"));
      return line;
    }));
    [...cards.children].forEach((card, place) => {
      const own = said.rows.filter((row) => row.place === `questions.${place}`).map((row) => row.text);
      card.querySelector("output").textContent = [...new Set(own)].join(", ");
    });
    risk(said.risk);
    for (const remark of said.remarks) {
      const place = fault_of(remark.place);
      show(place, remark.text);
      place.dataset.said = "";
      place.classList.add("remark");
    }
    byId("computed").hidden = !said.computed;
    byId("computed-text").textContent = said.computed;
    byId("use").hidden = !said.use;
    if (said.use) {
      byId("use").textContent = said.use.text;
      byId("use").onclick = () => {
        draft.survey[said.use.key] = said.use.value;
        fill_survey();
        changed();
      };
    }
    byId("live").textContent = said.live;
    document.body.dataset.margins = mine; // what tests wait for
  };

  // The survey's own entries
  const survey_fields = [...document.querySelectorAll("[data-scope=survey] [data-key]")];
  const entitled = (title) => { // the heading, and the name above all rooms where it is the same
    const above = document.querySelector(".subject");
    if (above.textContent === byId("heading").textContent) above.textContent = title;
    byId("heading").textContent = title;
  };
  const fill_survey = () => {
    for (const field of survey_fields) {
      const value = draft.survey[field.dataset.key];
      field.value = value === undefined ? "" : field.dataset.type === "text" ? String(value) : decimal(value);
    }
    const goal = draft.survey.goal ?? "mean";
    for (const radio of document.getElementsByName("goal")) radio.checked = radio.value === goal;
    byId("all-margins").hidden = goal === "mean";
  };
  for (const field of survey_fields) {
    field.addEventListener("input", () => {
      const type = field.dataset.type, key = field.dataset.key;
      put(draft.survey, key, type === "number" ? number(field.value) : type === "whole" ? whole(field.value) : field.value);
      if (key === "title") entitled(field.value);
      changed();
    });
  }
  byId("survey-title").addEventListener("change", () => { titled = true; changed(); });
  for (const radio of document.getElementsByName("goal")) {
    radio.addEventListener("change", () => {
      put(draft.survey, "goal", radio.value === "mean" ? undefined : radio.value);
      byId("all-margins").hidden = radio.value === "mean";
      changed();
    });
  }
  byId("fill").addEventListener("click", async () => {
    const said = await post("margin", JSON.stringify(draft), { points: byId("all-margin").value }).catch(() => ({ refused: words.unsaved }));
    show(byId("all-margin-fault"), said.refused ?? "");
    if (!said.document) return;
    draft = said.document;
    render();
    changed();
  });

  // Questions
  let numbers = 0;
  const stash = new WeakMap(); // answers and ranges of the forms that a question had before
  const auto = new WeakSet(); // questions whose short name follows their text
  const question_of = (card) => draft.questions[[...cards.children].indexOf(card)];
  const is_scale = (labels) => labels.length > 1 && labels.every((label, place) => /^-?\d{1,6}$/.test(label) && Number(label) === Number(labels[0]) + place);
  const form_of = (question) => {
    const labels = (Array.isArray(question.labels) ? question.labels : []).map(String);
    if (is_number(question)) return (question.bins ?? []).length ? "classes" : "mean";
    if (question.kind === "several") return "several";
    if (question.kind === "ordered") return is_scale(labels) ? "rating" : "ordered";
    const pair = labels.join("\n");
    return ["no\nyes", "yes\nno", "nein\nja", "ja\nnein", content.yes_no.join("\n")].includes(pair) ? "yes_no" : "choice";
  };
  const with_form = (question, form, before) => {
    const old = stash.get(question) ?? {};
    old[before] = Object.fromEntries(["labels", "range", "bins", "open_ends", "scores", "frequencies", "cumulative", "spread", "ends", "error"].filter((key) => key in question).map((key) => [key, question[key]]));
    stash.set(question, old);
    const labels = ["choice", "several", "ordered"].includes(before) ? question.labels : undefined;
    const ends = question.range;
    for (const key of ["kind", "labels", "range", "bins", "open_ends", "scores", "frequencies", "cumulative", "spread", "error"]) delete question[key];
    if (form === "several" || form === "ordered" || form === "rating") question.kind = form === "rating" ? "ordered" : form;
    if (["choice", "several", "ordered"].includes(form) && labels) question.labels = labels;
    if (form === "yes_no") question.labels = [...content.yes_no];
    if (form === "rating") question.labels = ["1", "2", "3", "4", "5"];
    if (form === "mean") question.range = ends ?? [0, 100];
    if (form === "classes") { question.range = ends ?? [0, 100]; question.bins = [question.range[0], (question.range[0] + question.range[1]) / 2, question.range[1]]; }
    Object.assign(question, old[form] && !(labels && form in { choice: 1, several: 1, ordered: 1 }) ? old[form] : {});
  };
  const refer = (from, to) => { // a question is called otherwise
    const name = (item) => (item === from ? to : item);
    const rename = (item) => Array.isArray(item) ? item.map(name) : { ...item,
      ...("questions" in item ? { questions: item.questions.map(name) } : {}),
      ...("number" in item ? { number: name(item.number) } : {}), ...("by" in item ? { by: name(item.by) } : {}) };
    for (const key of ["tables", "group_means"]) if (Array.isArray(draft.survey[key])) draft.survey[key] = draft.survey[key].map(rename);
    for (const texts of Object.values(draft.survey.translations ?? {})) {
      if (texts.questions && from in texts.questions) {
        texts.questions[to] = texts.questions[from];
        delete texts.questions[from];
      }
    }
  };
  const free_name = (text, own) => {
    const whole_stem = text.normalize("NFC").toLowerCase().replace(/[^\p{L}\p{M}\p{N}]+/gu, " ").trim().split(" ").slice(0, 4).join("_");
    const stem = [...whole_stem].slice(0, 30).join("");
    const others = draft.questions.filter((question) => question !== own).map((question) => question.name);
    if (stem && !others.includes(stem)) return stem;
    for (let count = 1; ; count += 1) {
      const name = `${stem || "q"}${stem ? "_" : ""}${count}`;
      if (!others.includes(name)) return name;
    }
  };
  const named = (question, card, name) => {
    const before = question.name;
    put(question, "name", name);
    if (before && name && draft.questions.every((one) => one === question || one.name !== before)) refer(before, name);
    card.querySelector("[data-key=name]").value = name;
    joints();
  };
  const fill_card = (card, question) => {
    const form = form_of(question);
    card.dataset.form = form;
    for (const part of card.querySelectorAll("[data-forms]")) part.hidden = !part.dataset.forms.split(" ").includes(form);
    for (const field of card.querySelectorAll("[data-key]")) {
      const [key, place] = field.dataset.key.split("."), value = question[key];
      const labels = Array.isArray(question.labels) ? question.labels : [];
      switch (field.dataset.type ?? key) {
        case "form": field.value = form; break;
        case "flag": field.checked = value === true; break;
        case "lines": field.value = Array.isArray(value) ? value.join("\n") : String(value ?? ""); break;
        case "scale": field.value = form === "rating" ? labels[key === "from" ? 0 : labels.length - 1] : ""; break;
        case "ends": case "range": field.value = Array.isArray(value) ? decimal(value[place] ?? "") : String(value ?? ""); break;
        case "bins": case "numbers": field.value = listed(value); break;
        case "margin": field.value = margin_text(value, factor(question)); break;
        case "number": field.value = value === undefined ? "" : decimal(value); break;
        case "importance": {
          const text = String(value ?? 1);
          if (![...field.options].some((option) => option.value === text)) field.add(new Option(fill(words.importance_other, { number: decimal(text) }), text));
          field.value = text;
          break;
        }
        default: field.value = String(value ?? "");
      }
    }
    card.querySelector("[data-entry=error] .unit").textContent = factor(question) > 10 ? words.margin_points : words.margin_units;
  };
  const read_field = (card, question, field) => {
    const [key, place] = field.dataset.key.split("."), text = field.value;
    switch (field.dataset.type ?? key) {
      case "form": with_form(question, text, card.dataset.form); fill_card(card, question); joints(); break;
      case "flag": put(question, key, field.checked || undefined); break;
      case "lines": question[key] = text.split("\n").map((line) => line.trim()).filter(Boolean); break;
      case "scale": {
        const [from, to] = ["from", "to"].map((end) => number(card.querySelector(`[data-key=${end}]`).value));
        const is_fine = Number.isInteger(from) && Number.isInteger(to) && to > from && to - from < 1000;
        question.labels = is_fine ? Array.from({ length: to - from + 1 }, (_, step) => String(from + step)) : [];
        break;
      }
      case "ends": {
        const ends = [0, 1].map((end) => card.querySelector(`[data-key="ends.${end}"]`).value);
        put(question, "ends", ends.every((end) => !end) ? undefined : ends);
        break;
      }
      case "range": question.range = [0, 1].map((end) => number(card.querySelector(`[data-key="range.${end}"]`).value)); break;
      case "bins": {
        question.bins = list(text);
        if (question.bins.length > 1) question.range = [question.bins[0], question.bins[question.bins.length - 1]];
        break;
      }
      case "numbers": put(question, key, list(text)); break;
      case "margin": put(question, key, margin_value(text, factor(question))); break;
      case "number": put(question, key, number(text)); break;
      case "importance": put(question, key, text === "1" ? undefined : Number(text)); break;
      case "name": auto.delete(question); named(question, card, text); break;
      default:
        put(question, key, text);
        if (key === "text" && auto.has(question)) named(question, card, free_name(text, question));
        else if (key === "text") joints();
    }
    title(card);
  };
  const title = (card) => {
    const place = [...cards.children].indexOf(card);
    card.querySelector(".card-title").textContent = fill(words.question, { number: place + 1 });
    for (const button of card.querySelectorAll(".actions button")) {
      button.setAttribute("aria-label", fill(words.of_question, { action: button.textContent, number: place + 1 }));
    }
  };
  const titles = () => { [...cards.children].forEach(title); };
  const action = (card, name, run) => {
    const button = make("button", words[name], "plain");
    button.type = "button";
    button.dataset.action = name;
    button.addEventListener("click", run);
    card.querySelector(".actions").append(button);
  };
  const move = (card, step) => {
    const place = [...cards.children].indexOf(card), other = place + step;
    if (other < 0 || other >= cards.children.length) return;
    const moved = draft.questions.splice(place, 1)[0];
    draft.questions.splice(other, 0, moved);
    cards.insertBefore(card, step < 0 ? cards.children[other] : cards.children[other].nextSibling);
    titles();
    card.querySelector(`[data-action=${step < 0 ? "up" : "down"}]`).focus();
    changed();
  };
  const add_card = (question, before = null) => {
    numbers += 1;
    const card = byId("card").content.firstElementChild.cloneNode(true);
    for (const element of card.querySelectorAll("[id], [for], [aria-describedby]")) {
      for (const name of ["id", "for", "aria-describedby"]) {
        if (element.hasAttribute(name)) element.setAttribute(name, element.getAttribute(name).replaceAll("q__n__", `q${numbers}`));
      }
    }
    cards.insertBefore(card, before);
    fill_card(card, question);
    for (const field of card.querySelectorAll("[data-key]")) {
      const event = field.matches("select, [type=checkbox]") ? "change" : "input";
      field.addEventListener(event, () => { read_field(card, question_of(card), field); changed(); });
    }
    action(card, "up", () => move(card, -1));
    action(card, "down", () => move(card, 1));
    action(card, "copy", () => {
      const own = question_of(card), copy = structuredClone(own);
      copy.name = free_name(String(own.name ?? ""), null);
      draft.questions.splice(draft.questions.indexOf(own) + 1, 0, copy);
      add_card(copy, card.nextSibling).querySelector("[data-key=text]").focus();
      changed();
    });
    action(card, "remove", () => {
      const own = question_of(card), place = draft.questions.indexOf(own);
      offer_undo(fill(words.removed, { name: own.text || own.name || fill(words.question, { number: place + 1 }) }));
      draft.questions.splice(place, 1);
      const stays = (item) => !(Array.isArray(item) ? item : [...(item.questions ?? []), item.number, item.by]).includes(own.name);
      for (const key of ["tables", "group_means"]) if (Array.isArray(draft.survey[key])) put(draft.survey, key, draft.survey[key].filter(stays));
      for (const texts of Object.values(draft.survey.translations ?? {})) if (texts.questions) delete texts.questions[own.name];
      card.remove();
      titles();
      joints();
      (cards.children[Math.min(place, cards.children.length - 1)]?.querySelector("[data-key=text]") ?? byId("add")).focus();
      changed();
    });
    titles();
    joints();
    return card;
  };
  byId("add").addEventListener("click", () => {
    const question = { name: free_name("", null), labels: [...content.yes_no] };
    auto.add(question);
    draft.questions.push(question);
    add_card(question).querySelector("[data-key=text]").focus();
    changed();
  });
  let former = null;
  const offer_undo = (text) => {
    former = structuredClone(draft);
    byId("undo-text").textContent = text;
    byId("undo-line").hidden = false;
  };
  byId("undo").addEventListener("click", () => {
    if (!former) return;
    draft = former;
    former = null;
    byId("undo-line").hidden = true;
    render();
    changed();
    byId("add").focus();
  });

  // Results of several questions
  const subject = (name) => {
    const text = String(draft.questions.find((question) => question.name === name)?.text || name);
    return text.length > 120 ? `${text.slice(0, 117)}...` : text;
  };
  const joint_name = (item, key) => {
    const quoted = (name) => fill(words.quoted, { text: subject(name) });
    const names = (Array.isArray(item) ? item : item.questions ?? []).map(quoted);
    if (key === "tables") return fill(words.joint_cross, { first: String(names[0]), second: names.slice(1).join(", ") });
    return fill(words.joint_by, { number: quoted(item.number), by: quoted(item.by) });
  };
  const joints = () => {
    const items = [];
    for (const key of ["tables", "group_means"]) {
      const stated = Array.isArray(draft.survey[key]) ? draft.survey[key] : [];
      stated.forEach((item, place) => items.push(joint_row(item, key, place)));
    }
    byId("joints").replaceChildren(...items);
    for (const id of ["joint-first", "joint-second"]) {
      const select = byId(id), before = select.value;
      select.replaceChildren(...draft.questions.filter((question) => question.name && question.kind !== "several").map((question) => new Option(subject(question.name), question.name)));
      if (before) select.value = before;
      if (!select.value && select.options.length) select.selectedIndex = id === "joint-first" ? 0 : Math.min(1, select.options.length - 1);
    }
    if (byId("joint-second").value === byId("joint-first").value && byId("joint-second").options.length > 1) byId("joint-second").selectedIndex = byId("joint-first").selectedIndex ? 0 : 1;
  };
  const joint_row = (item, key, place) => {
    const row = make("li"), id = `joint-${key}-${place}`;
    const name = joint_name(item, key);
    const label = make("label", `${name}: ${words.margin}`);
    label.htmlFor = id;
    const input = make("input");
    const number_of = draft.questions.find((question) => question.name === item.number);
    const scale = key === "tables" ? 100 * content.normal : factor(number_of);
    Object.assign(input, { id, type: "text", inputMode: "decimal", autocomplete: "off", value: margin_text(item.error, scale) });
    const fault = make("p", "", "fault");
    fault.id = `survey-${key}-${place}-error-fault`;
    fault.hidden = true;
    input.setAttribute("aria-describedby", fault.id);
    input.addEventListener("input", () => {
      const table = Array.isArray(item) ? { questions: item } : item;
      put(table, "error", margin_value(input.value, scale));
      item = draft.survey[key][place] = table;
      changed();
    });
    const unit = make("span", scale > 10 ? words.margin_points : words.margin_units, "unit");
    const button = make("button", words.remove, "plain");
    button.type = "button";
    button.setAttribute("aria-label", `${words.remove}: ${name}`);
    button.addEventListener("click", () => {
      offer_undo(fill(words.removed, { name }));
      put(draft.survey, key, draft.survey[key].filter((_, other) => other !== place));
      joints();
      byId("joint-add").focus();
      changed();
    });
    const line = make("span", undefined, "with-unit");
    line.append(input, unit, button);
    row.dataset.entry = key;
    row.append(label, line, fault);
    return row;
  };
  byId("joint-add").addEventListener("click", () => {
    const key = byId("joint-kind").value, first = byId("joint-first").value, second = byId("joint-second").value;
    if (!first || !second) return;
    const item = key === "tables" ? [first, second] : { number: first, by: second };
    draft.survey[key] = [...(draft.survey[key] ?? []), item];
    joints();
    changed();
  });

  // What could be dropped, curves, file, build
  const busy_line = (element, text) => {
    const spinner = make("span", undefined, "spinner");
    spinner.setAttribute("aria-hidden", "true");
    element.replaceChildren(spinner, ` ${text}`);
  };
  const table = (heads, rows, caption) => {
    const result = make("table", undefined, "results"), head = make("tr"), body = make("tbody");
    if (caption) result.append(make("caption", caption));
    heads.forEach((text, place) => { const cell = make("th", text, place ? "number" : ""); cell.scope = "col"; head.append(cell); });
    for (const row of rows) {
      const line = make("tr");
      row.forEach((text, place) => {
        const cell = make(place ? "td" : "th", text, place ? "number" : "");
        if (!place) cell.scope = "row";
        line.append(cell);
      });
      body.append(line);
    }
    const top = make("thead");
    top.append(head);
    result.append(top, body);
    return result;
  };
  const study = async (name, state, text, query, body = JSON.stringify(draft)) => {
    const number = state.dataset.number = String(Number(state.dataset.number ?? 0) + 1);
    busy_line(state, text);
    await settled();
    const said = await post(name, body, query).catch(() => ({ refused: words.unsaved }));
    if (state.dataset.number !== number) return null; // asked again meanwhile
    state.replaceChildren();
    if (said.refused) state.append(make("p", said.refused, "fault"));
    return said.overtaken || said.refused ? null : said;
  };
  const settled = async () => { // all that was typed is saved
    await save();
    while ((sending || dirty) && !blocked) await new Promise((done) => setTimeout(done, 50));
  };
  byId("ways").addEventListener("submit", async (event) => {
    event.preventDefault();
    const place = byId("ways-result");
    const said = await study("ways", place, words.ways_computing, { points: byId("ways-points").value });
    if (!said) return;
    const sets = make("ul");
    sets.append(...said.sets.map((text) => make("li", text)));
    place.append(make("p", said.now), make("p", said.heading), sets, ...said.more.map((text) => make("p", text)));
    if (said.singles.length) place.append(table([words.ways_column, words.ways_rest], said.singles, words.ways_alone));
    if (!said.sets.length) sets.remove();
  });
  byId("curves").addEventListener("click", async () => {
    const said = await study("curves", byId("curves-state"), words.curves_computing, {});
    if (!said) return;
    const parts = ["people", "epsilon"].map((axis) => {
      const part = make("figure");
      if (!said[axis].picture) { part.append(make("p", words.curves_none)); return part; }
      part.append(new DOMParser().parseFromString(said[axis].picture, "text/html").querySelector("svg")); // made by the server of plain numbers
      const more = make("details");
      more.append(make("summary", words.curves_table), table([words[`curves_${axis}`], words.curves_largest, words.curves_smallest], said[axis].rows));
      part.append(more);
      return part;
    });
    byId("curves-result").replaceChildren(...parts);
  });
  byId("import")?.addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    if (!content.unreadable) offer_undo(fill(words.imported, { name: file.name }));
    await settled();
    const said = await post("import", await file.arrayBuffer().then((bytes) => new Uint8Array(bytes)), { name: file.name }).catch(() => ({ refused: words.unsaved }));
    event.target.value = "";
    show(byId("import-fault"), said.refused ?? "");
    byId("import-fault").classList.remove("remark");
    if (said.refused) { byId("undo-line").hidden = true; return; }
    if (content.unreadable) return location.reload();
    base = said.base;
    moved(said.slug);
    draft = said.document;
    render();
    judge(said);
    show(byId("import-fault"), words.lost_comments);
    byId("import-fault").classList.add("remark");
  });
  byId("build")?.addEventListener("click", async () => {
    const place = byId("build-result");
    byId("build").disabled = true;
    const said = await study("build", place, words.build_computing, {}, "");
    byId("build").disabled = false;
    if (!said) return;
    moved(said.slug);
    place.append(make("p", said.built, "notice built"));
    place.append(table([words.audit_what, words.audit_verdict], said.rows));
    byId("to-collect").hidden = false;
    byId("to-collect").querySelector("a").focus();
  });

  const render = () => {
    fill_survey();
    cards.replaceChildren();
    draft.questions.forEach((question) => add_card(question));
    joints();
    entitled(String(draft.survey.title ?? ""));
  };
  byId("design").addEventListener("submit", (event) => event.preventDefault());
  render();
  if (content.fixed) margins();
  else if (!content.unreadable) { dirty = true; save(); } // an unreadable text stays as it is
})();
