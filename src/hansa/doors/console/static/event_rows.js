// Rows of events, as the server writes them.

import { legible } from "./seen.js";

export function moment(timestamp) {
  return `${new Date(timestamp).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

function cell(className, ...content) {
  const made = document.createElement("td");
  if (className) made.className = className;
  made.append(...content);
  return made;
}

function link(address, text) {
  const made = document.createElement("a");
  made.href = address;
  made.append(text);
  return made;
}

function apart(text) {
  const made = document.createElement("bdi");
  made.textContent = legible(text);
  return made;
}

const known = JSON.parse(document.querySelector("[data-sentences]")?.dataset.sentences ?? "{}");
const MEMBER = /\{(\w+)\}/;
const AMOUNTS = new Set(["amount", "fee"]);
const leftOut = new Set(known.left_out);

export function isShown(event) {
  return !leftOut.has(event.event_type);
}

function party(did) {
  const parts = did.split(":");
  const isSystem = parts[2] === "system";
  const name = parts.at(-1).replaceAll("_", " ");
  const shown = isSystem ? name[0].toUpperCase() + name.slice(1) : `did:…${did.slice(-4)}`;
  const made = link(isSystem ? `/events?did=${encodeURIComponent(did)}` : `/agents/${encodeURIComponent(did)}`, apart(shown));
  made.className = "party";
  made.title = legible(did);
  return made;
}

function amount(text) {
  const made = document.createElement("strong");
  made.textContent = legible(text);
  return made;
}

// As event_sentences.py does, but for names: a row that comes later has the end of the DID.
function sentence(event) {
  const template = known.sentences?.[event.event_type] ?? "";
  const pieces = template.split(MEMBER);
  const isWhole = pieces.every((piece, place) => place % 2 === 0 || ["string", "number"].includes(typeof event.data[piece]));
  if (!template || !isWhole) {
    return [`${event.event_type.replace(/(?<=[a-z])(?=[A-Z])/g, " ")}: `, apart(event.aggregate_id)];
  }
  return pieces.map((piece, place) => {
    if (place % 2 === 0) return piece;
    const text = String(event.data[piece]);
    if (AMOUNTS.has(piece)) return amount(`${text} ${event.data.currency ?? ""}`.trim());
    if (piece === "contract_id") return link(`/contracts/${encodeURIComponent(text)}`, text);
    return text.startsWith("did:") ? party(text) : apart(text);
  });
}

export function eventRow(event) {
  const row = document.createElement("tr");
  row.dataset.sequence = event.sequence;
  const cells = [
    ["No.", cell("number", link(`/events/${event.sequence}`, String(event.sequence)))],
    ["Event", cell("sentence", ...sentence(event))],
    ["Time (UTC)", cell("", moment(event.timestamp).replace(" UTC", ""))],
  ];
  for (const [label, made] of cells) made.dataset.label = label;
  row.append(...cells.map(([, made]) => made));
  return row;
}
