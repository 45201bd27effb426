// This script refreshes the page after each event. When a button is pressed, it sends a request to the control API.
"use strict";

const pause = 500; // minimum time between two refreshes, in milliseconds
const state = document.getElementById("state");
const message = document.getElementById("message");
let waiting = false; // whether a refresh is planned or in progress
let again = false; // whether an event arrived after the refresh began

// The ids of the details that the reader has opened or closed. The keyboard also causes clicks.
const chosen = new Set();
document.addEventListener("click", (event) => {
  const summary = event.target.closest("summary");
  if (summary) chosen.add(summary.parentElement.id);
});

// replace replaces a part of the page by a new part. Details that the reader has opened or closed
// stay as they are, and the focus stays.
function replace(old, fresh) {
  const active = document.activeElement;
  if (old.contains(active) && active.matches("input, select")) {
    active.addEventListener("blur", refresh, { once: true }); // do not replace a form while the reader types
    return;
  }
  for (const details of old.querySelectorAll("details")) {
    const same = fresh.querySelector(`#${CSS.escape(details.id)}`);
    if (same && (chosen.has(details.id) || details.contains(active))) same.open = details.open;
  }
  if (old.innerHTML === fresh.innerHTML) return;
  const focused = old.contains(active) ? focusable(active) : "";
  old.replaceChildren(...fresh.childNodes);
  if (focused) old.querySelector(focused)?.focus();
}

// focusable returns a selector that finds the same button or summary in the new part.
function focusable(element) {
  const home = `#${CSS.escape(element.closest("[id]").id)}`;
  return element.form ? `${home} form[data-path=${CSS.escape(element.form.dataset.path)}] button` : `${home} > summary`;
}

async function refresh() {
  if (waiting) {
    again = true;
    return;
  }
  waiting = true;
  do {
    again = false;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-live]")) {
        const fresh = page.getElementById(part.id);
        if (fresh) replace(part, document.adoptNode(fresh));
      }
      if (events.readyState === EventSource.OPEN) say(true, "live");
    } catch (error) {
      say(false, `not live: ${error.message}`);
    }
    await new Promise((done) => setTimeout(done, pause));
  } while (again);
  waiting = false;
}

function say(live, text) {
  state.classList.toggle("live", live);
  if (state.textContent !== text) state.textContent = text;
}

const events = new EventSource(document.body.dataset.events);
events.onopen = refresh;
events.onerror = () => say(false, "not live: connecting again");
for (const kind of document.body.dataset.kinds.split(" ")) events.addEventListener(kind, refresh);
setInterval(refresh, 5000); // updates the clock on the page, because no event announces that time passes

// The body of a request: the fields of its form that have a value.
function body(form) {
  if (form.dataset.json) return form.dataset.json;
  const fields = {};
  for (const field of form.elements) {
    if (!field.name) continue;
    if (field.type === "checkbox") {
      if (field.checked) fields[field.name] = true;
    } else if (field.value !== "") {
      fields[field.name] = field.dataset.type === "number" ? Number(field.value) : field.value;
    }
  }
  return JSON.stringify(fields);
}

// tell shows the result of a button. An error stays until the next result.
let hide = 0;
function tell(text, bad) {
  clearTimeout(hide);
  message.textContent = text;
  message.classList.toggle("bad", bad);
  if (!bad) hide = setTimeout(() => { message.textContent = ""; }, 3000);
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset.method) return; // the search form is a normal GET
  event.preventDefault();
  if (form.dataset.ask && !confirm(form.dataset.ask)) return;
  const name = form.querySelector("button").textContent;
  const request = { method: form.dataset.method };
  if (request.method !== "DELETE") {
    request.headers = { "Content-Type": "application/json" };
    request.body = body(form);
  }
  try {
    const answer = await fetch(form.dataset.path, request);
    const problem = answer.ok ? "" : (await answer.json().catch(() => null))?.error?.message ?? `HTTP ${answer.status}`;
    tell(`${name}: ${problem || "done"}`, problem !== "");
  } catch (error) {
    tell(`${name}: ${error.message}`, true);
  }
  refresh();
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    tell(`${button.textContent}: done`, false);
  } catch (error) {
    tell(`${button.textContent}: ${error.message}`, true);
  }
});
