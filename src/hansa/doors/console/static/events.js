// Adds new events to the list as they are committed. A stream that breaks off resumes after the last event received.

import { eventRow, isShown } from "./event_rows.js";

const ROWS_MAX = 200;

const panel = document.querySelector("[data-stream]");

class LiveList {
  constructor(section) {
    this.address = new URL(section.dataset.stream, location.href);
    this.rows = section.querySelector("[data-events]");
    this.state = section.querySelector("[data-state]");
    this.button = section.querySelector("[data-pause]");
    this.isPaused = false;
    this.state.hidden = this.button.hidden = false;
    this.button.addEventListener("click", () => this.pause(!this.isPaused));
    document.addEventListener("visibilitychange", () => this.follow());
    // A page kept by the browser for the back button has lost its stream.
    addEventListener("pageshow", (shown) => shown.persisted && this.follow());
    this.follow();
  }

  show(word, kind) {
    if (this.state.textContent === word) return;
    this.state.textContent = word;
    this.state.className = `verdict ${kind}`;
  }

  pause(isPaused) {
    this.isPaused = isPaused;
    this.button.textContent = isPaused ? "Resume" : "Pause";
    this.follow();
  }

  follow() {
    this.source?.close();
    this.source = undefined;
    if (this.isPaused) this.show("Paused", "pending");
    if (this.isPaused || document.hidden) return;
    this.show("Connecting", "pending");
    const source = new EventSource(this.address);
    this.source = source;
    source.addEventListener("open", () => this.show("Live", "good"));
    source.addEventListener("error", () => {
      this.show("Reconnecting", "pending");
      // An answer that is no stream, such as a refusal, ends the source for good.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => source === this.source && this.follow(), 5000);
    });
    source.addEventListener("message", (message) => this.add(message));
    source.addEventListener("gap", (message) => {
      this.resumeAfter(message);
      this.show("Live; some events were skipped, reload to see them", "pending");
    });
  }

  resumeAfter(message) {
    if (message.lastEventId) this.address.searchParams.set("after", message.lastEventId);
  }

  add(message) {
    this.resumeAfter(message);
    const event = JSON.parse(message.data);
    if (!isShown(event)) return;
    if (this.rows.querySelector(`[data-sequence="${Number(event.sequence)}"]`)) return;
    this.rows.querySelector("[data-none]")?.remove();
    this.rows.prepend(eventRow(event));
    while (this.rows.children.length > ROWS_MAX) this.rows.lastElementChild.remove();
  }
}

if (panel) new LiveList(panel);
