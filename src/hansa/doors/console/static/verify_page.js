// The page /verify: reads a document and the keys, lets the judge of its kind decide, and shows each check.

import { read, Unreadable } from "./canonical.js";
import { propose, RULES_VERSIONS } from "./dispute.js";
import { reduction } from "./slash_reduction.js";
import { NoCryptography, NotAKey } from "./ed25519.js";
import { FORMULA, verifyExport } from "./reputation.js";
import { legible } from "./seen.js";
import { ACHIEVEMENT_TYPE, verifyAchievement } from "./verify_achievement.js";
import { auditorKeys, readExport, STANDARD, verifyAttestations } from "./verify_attestations.js";
import { verifyLiabilitiesAsOf } from "./verify_balance_as_of.js";
import { verifyLiabilities } from "./verify_balance_proof.js";
import { readKeys, verifyCard } from "./verify_card.js";
import { verifyContractProof } from "./verify_contract_proof.js";
import { verifyLicence } from "./verify_licence.js";
import { verifyLicenceAsOf } from "./verify_licence_as_of.js";
import { verifyLogConsistency, verifyLogProof } from "./verify_log.js";
import { verifyRegistryCard } from "./verify_registry_card.js";
import { SETTLEMENT_KIND, verifySettlement } from "./verify_settlement.js";
import { Fails, isWhole, momentOf, now, readStrictly, step, textOf, verdictOf } from "./verdict.js";

const REGISTRY_KEYS = "/.well-known/registry-jwks.json";
const KEY_HISTORY = "/.well-known/registry-jwks-history.json";
const AUDITOR_KEYS = "/.well-known/auditor-jwks.json";
const REGISTRY_CARD = "/.well-known/registry-card.json";
const CARD_SCHEMA = "/.well-known/registry-card-schema.json";
const ISSUED_LIST = "/.well-known/federation-licences.json";
const RECORDS = "/api/auditor/attestations";
const SCORES = "/api/v1/reputation/export";
const PAGE = 200;
const PAGES_MAX = 1000;
const BUNDLE = "dispute-bundle+jws";
const KINDS = {
  JOSE: "Agent card",
  "payment-receipt+jws": "Payment receipt",
  [ACHIEVEMENT_TYPE]: "Achievement",
  [BUNDLE]: "Bundle of a dispute",
};

const NO_TIME = "A document of this kind has no verdict as of a time: leave the time empty.";

class CannotRead extends Error {}

const form = document.querySelector("[data-verify]");
const result = document.querySelector("[data-result]");

async function fetched(address) {
  // Only this registry: the policy of the page lets nothing else be read.
  const url = new URL(address, location.origin);
  if (url.origin !== location.origin) throw new CannotRead("The address must be on this registry; save the document and choose the file.");
  let answer;
  try {
    answer = await fetch(url, { headers: { Accept: "application/json" }, redirect: "error" });
  } catch {
    throw new CannotRead("The registry cannot be reached.");
  }
  if (!answer.ok) throw new CannotRead(`The registry did not return ${url.pathname} (status ${answer.status}).`);
  return answer.text();
}

const keyText = async (address) => form.elements.keys.value.trim() || fetched(address);

// Keys of this registry: with their times where the document is judged as of a time.
const registryKeys = async () => readKeys(await keyText(stated("at") ? KEY_HISTORY : REGISTRY_KEYS));

const stated = (name) => form.elements[name].value.trim();

// The time to judge, in microseconds, or null for now.
function timeAsked() {
  const at = momentOf(stated("at"));
  if (at === null && stated("at")) throw new CannotRead("The time must be such as 2027-01-31T12:00:00Z.");
  return at;
}

async function judged(text) {
  const verdict = await judgedByKind(text, timeAsked());
  return stated("at") ? { ...verdict, kind: `${verdict.kind}, as of ${stated("at")}` } : verdict;
}

async function judgedByKind(text, at) {
  const found = read(text);
  if (!(found instanceof Map)) throw new CannotRead("The document is not a JSON object.");
  if (found.has("registry_card_version")) return judgedRegistryCard(text, at);
  readStrictly(text);
  if (Array.isArray(found.get("signatures"))) return judgedCard(text, found, at);
  if (found.get("kind") === SETTLEMENT_KIND) return judgedSettlement(text, at);
  if (found.get("formula") === FORMULA) return judgedScores([text]);
  if (found.has("certificate")) return judgedLicence(found, at);
  if (found.has("leaves") || found.has("blocks")) return judgedBalance(found, at);
  if (at !== null) throw new CannotRead(NO_TIME);
  if (found.has("authorization_id")) return judgedContractProof(text);
  if (found.get("standard") === STANDARD) return judgedChain(text, found);
  const keys = auditorKeys(readStrictly(await keyText(AUDITOR_KEYS)));
  if (found.has("old_size")) {
    const old = form.elements.old.value;
    if (!old.trim()) throw new CannotRead("A proof of consistency needs the older checkpoint: paste it below.");
    return { kind: "Consistency of the log", ...(await verifyLogConsistency(found, keys, old)) };
  }
  if (found.has("entry")) return { kind: "Leaf of the log", ...(await verifyLogProof(found, keys)) };
  throw new CannotRead("The document is of no kind that this page verifies.");
}

async function judgedRegistryCard(text, at) {
  const schema = read(await fetched(CARD_SCHEMA));
  return { kind: "Registry card", ...(await verifyRegistryCard(text, await registryKeys(), { schema, at: at ?? now() })) };
}

// As of a time, with the attestations of this registry from that of the proof on.
async function judgedBalance(found, at) {
  const keys = auditorKeys(readStrictly(await keyText(AUDITOR_KEYS)));
  const verdict = at === null ? verifyLiabilities(found, keys) : verifyLiabilitiesAsOf(found, keys, { at, records: await recordsFrom(found, at) });
  return { kind: found.has("blocks") ? "Sum of all balances" : "Balance proof", ...(await verdict) };
}

async function recordsFrom(found, at) {
  const record = found.get("attestation");
  const records = [];
  if (!(record instanceof Map) || !isWhole(record.get("id"))) return records;
  let last = BigInt(record.get("id").text) - 1n;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const { records: read } = readExport(await fetched(`${RECORDS}?limit=${PAGE}&before_id=${last + BigInt(PAGE) + 1n}`));
    const newer = read.reverse().filter((one) => one instanceof Map && isWhole(one.get("id")) && BigInt(one.get("id").text) > last);
    if (!newer.length) return records;
    records.push(...newer);
    last = BigInt(newer.at(-1).get("id").text);
    if ((momentOf(newer.at(-1).get("ts")) ?? at + 1n) > at) return records;
  }
  throw new CannotRead("There are too many attestations between the proof and the time: use the command with an export.");
}

async function judgedCard(text, found, at) {
  const typ = typeOf(found.get("signatures"));
  const [keys, moment] = [await registryKeys(), at ?? now()];
  if (typ === ACHIEVEMENT_TYPE) return { kind: KINDS[typ], ...(await verifyAchievement(text, keys, { at: moment })) };
  const verdict = await verifyCard(text, keys, { typ, at: moment });
  if (typ !== BUNDLE || verdict.code !== "verified") return { kind: KINDS[typ], ...verdict };
  return { kind: KINDS[typ], ...verdictOf([...verdict.steps, await proposalOf(found), ...reductionOf(found)]) };
}

// Whether the facts of a bundle that is signed give the ruling that it states.
async function proposalOf(bundle) {
  if (bundle.get("kind") !== "dispute.bundle.v1" || !RULES_VERSIONS.includes(bundle.get("rules")?.text)) {
    throw new CannotRead(`The bundle is not one with the rules of version ${RULES_VERSIONS.join(" or ")}.`);
  }
  const [{ ruling, rule, why }, stated] = [await proposed(bundle), bundle.get("proposal")];
  const isStated = stated instanceof Map && stated.get("ruling") === ruling && stated.get("rule") === rule;
  return step("proposal", isStated, `${ruling ?? rule}: ${why}`);
}

// Whether the attestations of a bundle take the share of the slash that it states; one that cites nothing, or of earlier rules, states none.
function reductionOf(bundle) {
  if (["1", "2"].includes(bundle.get("rules").text) || bundle.get("slash") === null) return [];
  try {
    const { isStated, said } = reduction(bundle);
    return [step("slash", isStated, said)];
  } catch (trouble) {
    if (trouble instanceof TypeError) throw new CannotRead("The bundle has another form than the rules expect.");
    throw trouble;
  }
}

// A bundle of another form is signed all the same, when its registry signs anything.
async function proposed(bundle) {
  try {
    return await propose(bundle);
  } catch (trouble) {
    if (trouble instanceof TypeError) throw new CannotRead("The bundle has another form than the rules expect.");
    throw trouble;
  }
}

// The card is that of this registry unless its text is given.
async function judgedContractProof(text) {
  const card = form.elements.card.value.trim() || (await fetched(REGISTRY_CARD));
  const [keys, schema] = [readKeys(await keyText(REGISTRY_KEYS)), read(await fetched(CARD_SCHEMA))];
  return { kind: "Proof of a contract", ...(await verifyContractProof(text, card, keys, { schema })) };
}

// Another registry signed it, whose keys must be given: those of this registry would only say that it did not.
async function judgedSettlement(text, at) {
  const keys = form.elements.keys.value.trim();
  if (!keys) throw new CannotRead("The evidence of a settlement is signed by the other registry: paste its keys below.");
  return { kind: "Evidence of a slash across registries", ...(await verifySettlement(text, readKeys(keys), { at: at ?? now() })) };
}

// As of a day the kept export of that day, pasted below, states the scores.
function judgedScores(texts) {
  const [day, kept] = [stated("at").slice(0, 10) || null, stated("old") || null];
  const { code, epoch, scores, differing, unknown } = verifyExport(texts, { at: day, stated: kept });
  const said = unknown ?? `${differing.length} of ${scores.size} scores differ${differing.length ? `, first that of ${differing[0]}` : ""}`;
  const judgement = verdictOf([step("scores", code === "verified", said)]);
  return { kind: `Reputation, epoch ${epoch ?? "none"}`, ...judgement, ...(code === "unverified" ? { code } : {}) };
}

// Every page of the export of this registry.
async function ownScores() {
  const texts = [];
  let query = "";
  for (;;) {
    texts.push(await fetched(SCORES + query));
    const next = read(texts.at(-1)).get("next");
    if (!(next instanceof Map)) return judgedScores(texts);
    const members = [...next].map(([name, value]) => [name, value?.text ?? value]);
    if (query === `?${new URLSearchParams(members)}`) throw new CannotRead("The pages of the export do not continue.");
    query = `?${new URLSearchParams(members)}`;
  }
}

// The type that a signature names, when it is a known one; the signature must then bear it.
function typeOf(entries) {
  for (const entry of entries) {
    try {
      const header = JSON.parse(atob(entry.get("protected").replaceAll("-", "+").replaceAll("_", "/")));
      if (Object.hasOwn(KINDS, header.typ) && header.canon) return header.typ;
    } catch {
      // The judge says what is wrong with it.
    }
  }
  return "JOSE";
}

// The lists of this registry are read; those of issuers elsewhere are not, and the verdict says so.
async function judgedLicence(found, at) {
  const root = form.elements.root.value.trim() || null;
  const chain = found.get("chain") ?? [];
  if (!Array.isArray(chain)) throw new CannotRead("The chain is not a list of certificates.");
  let lists = [];
  try {
    lists = [readStrictly(await fetched(ISSUED_LIST)).get("list")];
  } catch (trouble) {
    if (!(trouble instanceof CannotRead)) throw trouble;
  }
  const [certificate, given] = [found.get("certificate"), { root, lists, statedHash: found.get("hash") ?? null }];
  const verdict = at === null ? verifyLicence(certificate, chain, given) : verifyLicenceAsOf(certificate, chain, at, given);
  return { kind: "Licence certificate", ...(await verdict) };
}

async function judgedChain(text, found) {
  const { records, keySet } = readExport(text);
  const own = form.elements.keys.value.trim();
  const keys = auditorKeys(own ? readStrictly(own) : found.has("keys") ? keySet : readStrictly(await fetched(AUDITOR_KEYS)));
  const verdict = await verifyAttestations(records, keys);
  if (!own && found.has("keys")) verdict.warnings.push({ code: "keys_unproved", said: "the keys are those of the export itself" });
  return { kind: `Supply attestations, ${verdict.records} records`, ...verdict };
}

// The whole chain of this registry, its first record first, with the keys of this registry.
async function ownChain() {
  if (timeAsked() !== null) throw new CannotRead(NO_TIME);
  const records = [];
  let before = "";
  for (;;) {
    const page = readExport(await fetched(`${RECORDS}?limit=${PAGE}${before}`)).records;
    records.push(...page);
    if (page.length < PAGE) break;
    const last = page.at(-1)?.get("id")?.text;
    if (!/^[1-9][0-9]*$/.test(last ?? "") || `&before_id=${last}` === before) throw new CannotRead("The records have no falling ids.");
    before = `&before_id=${last}`;
  }
  const keys = auditorKeys(readStrictly(await keyText(AUDITOR_KEYS)));
  const verdict = await verifyAttestations(records.reverse(), keys);
  return { kind: `Supply attestations, ${verdict.records} records`, ...verdict };
}

function show({ kind, code, steps, warnings = [] }) {
  const rows = [
    ...steps.map(({ name, holds, said }) => [name, holds ? "Pass" : "Fail", said, holds ? "good" : "bad"]),
    ...warnings.map(({ code: name, said }) => [name, "Warning", said, "pending"]),
  ];
  showVerdict(code === "verified" ? "good" : "bad", code === "verified" ? "Verified" : `Not verified: ${code}`, kind);
  result.querySelector("[data-steps]").replaceChildren(...rows.map(rowOf));
}

function rowOf([name, word, said, verdict]) {
  const row = document.createElement("tr");
  for (const text of [name, word, said]) {
    const cell = document.createElement("td");
    cell.textContent = legible(text);
    row.append(cell);
  }
  const mark = document.createElement("span");
  mark.className = `verdict ${verdict}`;
  mark.textContent = word;
  row.children[1].replaceChildren(mark);
  return row;
}

function showVerdict(verdict, word, said) {
  result.hidden = false;
  const mark = result.querySelector("[data-verdict]");
  mark.className = `verdict ${verdict}`;
  mark.textContent = legible(word);
  result.querySelector("[data-kind]").textContent = legible(said);
  result.querySelector("[data-steps]").replaceChildren();
}

async function run(judge) {
  showVerdict("pending", "Verifying", "");
  try {
    show(await judge());
  } catch (trouble) {
    if (![CannotRead, Fails, NoCryptography, NotAKey, Unreadable].some((kind) => trouble instanceof kind)) throw trouble;
    showVerdict("bad", "Cannot be verified", trouble.message);
  }
}

const WHOLE = { [RECORDS]: ownChain, [SCORES]: ownScores };

const fromAddress = (address) => run(async () => (Object.hasOwn(WHOLE, address) ? WHOLE[address]() : judged(await fetched(address))));

const fromFile = (file) => run(async () => judged(textOf(new Uint8Array(await file.arrayBuffer()))));

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const { address, file, text } = form.elements;
  if (text.value.trim()) run(() => judged(text.value));
  else if (file.files.length) fromFile(file.files[0]);
  else if (address.value.trim()) fromAddress(address.value.trim());
  else showVerdict("pending", "Nothing to verify", "Enter an address, choose a file or paste the text of a document.");
});

for (const button of form.querySelectorAll("[data-address]")) {
  button.addEventListener("click", () => fromAddress(button.dataset.address));
}

document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
  event.preventDefault();
  if (event.dataTransfer?.files.length) fromFile(event.dataTransfer.files[0]);
});

const named = new URLSearchParams(location.search).get("document");
if (named) {
  form.elements.address.value = named;
  fromAddress(named);
}
