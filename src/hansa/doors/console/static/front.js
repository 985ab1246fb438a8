// Keeps the supply line and the latest events current while somebody looks at them.

import { eventRow, isShown, moment } from "./event_rows.js";

const PERIOD_MILLISECONDS = 5000;
const EVENTS_READ = 50;
const EVENTS_SHOWN = 12;

const supply = document.getElementById("supply");
const eventRows = document.querySelector("[data-events]");

async function read(path) {
  const answer = await fetch(path, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(`${answer.status}`);
  return answer.json();
}

function grouped(amount) {
  const [whole, fraction] = amount.split(".");
  const groups = whole.replace(/(?<=\d)(?=(?:\d{3})+(?!\d))/g, "\u202f");
  return fraction === undefined ? groups : `${groups}.${fraction}`;
}

function write(element, text) {
  // A live region is spoken at every write, so only a change is written.
  if (element.textContent !== text) element.textContent = text;
}

function showSupply(verdict) {
  const isGood = verdict.status === "OK";
  const sentence = supply.querySelector("[data-verdict]");
  write(sentence, isGood ? "In balance" : "Breach");
  sentence.classList.toggle("good", isGood);
  sentence.classList.toggle("bad", !isGood);
  for (const figure of supply.querySelectorAll("[data-figure]")) {
    write(figure, grouped(verdict[figure.dataset.figure]));
  }
  const checked = supply.querySelector("[data-checked]");
  checked.dateTime = verdict.checked_at;
  write(checked, moment(verdict.checked_at));
  write(supply.querySelector("[data-sequence]"), String(verdict.as_of_event_seq));
  write(supply.querySelector("[data-agents]"), String(verdict.agent_count));
}

function showEvents(recent) {
  const shown = [...eventRows.querySelectorAll("[data-sequence]")].map((row) => Number(row.dataset.sequence));
  // The events before those of the page are not new.
  const oldest = Math.min(...shown, Number.MAX_SAFE_INTEGER);
  const isNew = ({ sequence }) => (shown.length === 0 || sequence > oldest) && !shown.includes(sequence);
  const added = recent.events.filter((event) => isShown(event) && isNew(event));
  if (added.length > 0) eventRows.querySelector("[data-none]")?.remove();
  eventRows.prepend(...added.slice(0, EVENTS_SHOWN).map(eventRow));
  while (eventRows.children.length > EVENTS_SHOWN) eventRows.lastElementChild.remove();
}

async function refresh() {
  const trouble = supply.querySelector("[data-trouble]");
  try {
    const [verdict, recent] = await Promise.all([
      read("/api/v1/public/supply-invariant"),
      read(`/api/v1/public/eventstore-recent?limit=${EVENTS_READ}`),
    ]);
    showSupply(verdict);
    showEvents(recent);
    write(trouble, "");
  } catch {
    write(trouble, " · the registry does not respond");
  }
}

async function keepFresh() {
  if (!document.hidden) await refresh();
  setTimeout(keepFresh, PERIOD_MILLISECONDS);
}

// After the first paint: all but the events is on the page already.
requestAnimationFrame(() => setTimeout(keepFresh));
