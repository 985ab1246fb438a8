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

export function eventRow(event) {
  const row = document.createElement("tr");
  row.dataset.sequence = event.sequence;
  row.append(
    cell("number", link(`/events/${event.sequence}`, String(event.sequence))),
    cell("", event.event_type.replace(/(?<=[a-z])(?=[A-Z])/g, " ")),
    cell("identifier", link(`/events?did=${encodeURIComponent(event.aggregate_id)}`, apart(event.aggregate_id))),
    cell("", moment(event.timestamp).replace(" UTC", "")),
  );
  return row;
}
