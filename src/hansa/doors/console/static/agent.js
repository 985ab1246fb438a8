// Checks the signature of the shown agent's card in the browser, and says what it found or why it could not.

import { Numeral } from "./canonical.js";
import { legible } from "./seen.js";
import { NotVerified, PROFILE, verified } from "./verify.js";

const panel = document.querySelector("[data-signed]");

async function text(path) {
  let answer;
  try {
    answer = await fetch(path, { headers: { Accept: "application/json" }, redirect: "error" });
  } catch {
    throw new NotVerified("The registry cannot be reached.");
  }
  if (!answer.ok) throw new NotVerified(`The registry did not return ${path} (status ${answer.status}).`);
  return answer.text();
}

function showVerdict(verdict, word, reason, findings) {
  const sign = panel.querySelector("[data-verdict]");
  sign.className = `verdict ${verdict}`;
  sign.textContent = word;
  sign.hidden = false;
  panel.querySelector("[data-reason]").textContent = reason;
  const list = panel.querySelector("[data-findings]");
  list.replaceChildren(...findings.map(([name, value]) => finding(name, value)));
  list.hidden = findings.length === 0;
}

function finding(name, value) {
  const [row, term, detail, apart] = ["div", "dt", "dd", "bdi"].map((kind) => document.createElement(kind));
  term.textContent = name;
  apart.textContent = legible(value);
  detail.append(apart);
  row.append(term, detail);
  return row;
}

function price(card) {
  const pricing = card.get("pricing");
  const rate = pricing instanceof Map ? pricing.get("base_rate") : undefined;
  if (rate instanceof Numeral) return rate.text;
  return typeof rate === "string" ? rate : "not in the card";
}

async function check() {
  try {
    const [card, keys] = await Promise.all([text(panel.dataset.signed), text(panel.dataset.keys)]);
    const found = await verified(card, keys);
    showVerdict("good", "Verified", "Verified by your browser: the card has not changed since this registry signed it.", [
      ["Signed by", found.keyId.split("#")[0]],
      ["Key", found.keyId],
      ["Signed at", found.signedAt.toISOString()],
      ["Profile", PROFILE],
      ["Signed name", String(found.card.get("name"))],
      ["Signed price", price(found.card)],
    ]);
  } catch (trouble) {
    if (!(trouble instanceof NotVerified)) throw trouble;
    showVerdict("bad", "Not verified", trouble.message, []);
  }
}

const button = panel?.querySelector("[data-check]");
if (button) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await check();
    } finally {
      button.disabled = false;
    }
  });
}
