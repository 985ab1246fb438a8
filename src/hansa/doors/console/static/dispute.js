// What a dispute comes to, where its facts decide it: the rules of `hansa_verify.propose`, of the same version. A bundle is as `read`
// gives it; the registry signed it. Throws Unreadable for a bundle that lacks a member.

import { Unreadable } from "./canonical.js";
import { isSigned, NotAKey, publicKeyOf } from "./ed25519.js";
import { compared, decimal, plus } from "./exact.js";
import { hex, isSame, isWhole, momentOf, octetsOf, sha256 } from "./verdict.js";
import { readCompact } from "./verify_card.js";

// Versions whose bundles are decided. A rule that a version did not have decides none of its bundles.
export const RULES_VERSIONS = ["1", "2", "3"];
const UNPAID_SINCE = 2;
const FOR_COMPLAINANT = "IN_FAVOR_OF_COMPLAINANT";
const FOR_DEFENDANT = "IN_FAVOR_OF_DEFENDANT";
const UNDECIDABLE = "undecidable";
const NOT_AS_AGREED = ["SERVICE_NOT_DELIVERED", "CONTRACT_VIOLATION"];
const OVERPAID = ["UNFAIR_FEE", "CONTRACT_VIOLATION", "OTHER"];
const SECOND = 1_000_000n;

// {ruling, rule, why}: the ruling is null where the facts decide nothing.
export async function propose(bundle) {
  const facts = new Facts(bundle);
  const findings = [];
  for (const [subject, rules] of [["contract", OF_CONTRACTS], ["token", OF_TOKENS]]) {
    if (at(bundle, subject) !== null) for (const rule of rules) findings.push(await rule(facts));
  }
  const [found, dispute] = [findings.filter((one) => one !== null), at(bundle, "dispute")];
  const undecidable = (why) => ({ ruling: null, rule: UNDECIDABLE, why });
  if (new Set(found.map(({ atFault }) => atFault)).size > 1) return undecidable("The facts are against both parties.");
  const answering = found.find(({ answers }) => answers.includes(at(dispute, "reason_code")));
  if (!answering) return undecidable("No fact of record decides this complaint.");
  const { rule, why } = answering;
  if (answering.atFault === at(dispute, "defendant_did")) return { ruling: FOR_COMPLAINANT, rule, why };
  if (rule === "delivered") return { ruling: FOR_DEFENDANT, rule, why };
  return undecidable("The facts are against the complainant, but not about this complaint.");
}

const finding = (rule, atFault, answers, why) => ({ rule, atFault, answers, why });

const OF_CONTRACTS = [
  function notDelivered({ contract }) {
    if (contract("status") !== "FAILED" || contract("ended_because") !== "not_submitted") return null;
    return finding("not_delivered", contract("provider_did"), NOT_AS_AGREED, "The work was due, and the provider had not submitted it.");
  },
  // Delivered, and the contractor kept silent: in the review, and in the dispute as well.
  function notReviewed(facts) {
    const { contract } = facts;
    const contractor = contract("contractor_did");
    const isUnreviewed = contract("status") === "FAILED" && contract("ended_because") === "not_reviewed";
    if (!isUnreviewed || facts.spoke(contractor)) return null;
    const submitted = contract("history").filter((line) => at(line, "act") === "submitted").at(-1);
    const isDelivered = (piece) => ["milestone", "at"].every((name) => isSame(at(piece, name), at(submitted, name)));
    if (!submitted || !contract("deliverables").some(isDelivered)) return null;
    const why = "The work was submitted with its digest, and the contractor did not review it in time.";
    return finding("not_reviewed", contractor, ["CONTRACT_VIOLATION", "OTHER"], why);
  },
  function paidBeyondContract({ bundle, contract }) {
    const paid = at(bundle, "payments").map((payment) => decimal(at(payment, "amount"))).reduce(plus, decimal("0"));
    if (compared(paid, decimal(contract("amount"))) <= 0) return null;
    return finding("settled_twice", contract("provider_did"), OVERPAID, "More was paid than the contract is worth.");
  },
];

const OF_TOKENS = [
  function settledTwice({ bundle, token }) {
    const [other] = at(bundle, "same_work");
    if (token("status") !== "settled" || !other) return null;
    const why = `The payment token ${at(other, "token_id")} had paid the same request of the same task.`;
    return finding("settled_twice", token("payee_did"), OVERPAID, why);
  },
  async function aboveQuote(facts) {
    const { token } = facts;
    if (token("status") !== "settled" || token("capture_by") !== "payee") return null;
    const quoted = (await facts.quotes()).map((quote) => decimal(at(quote, "amount")));
    const [first, ...others] = quoted;
    const most = first && others.reduce((one, other) => (compared(other, one) > 0 ? other : one), first);
    if (!most || compared(decimal(token("paid_amount")), most) <= 0) return null;
    const why = "The payee captured more than any quote that the registry had signed.";
    return finding("above_quote", token("payee_did"), OVERPAID, why);
  },
  async function wrongRequest(facts) {
    const { token } = facts;
    const receipts = token("status") === "settled" ? await facts.receipts() : [];
    const digest = token("request_digest");
    if (!receipts.length || digest === null || receipts.some(({ request }) => request === digest)) return null;
    const why = "The payee signed that it answered another request than the one that was paid.";
    return finding("wrong_digest", token("payee_did"), [...NOT_AS_AGREED, "POOR_QUALITY"], why);
  },
  async function tooLate(facts) {
    const { token } = facts;
    const receipts = token("status") === "settled" ? await facts.receipts() : [];
    const first = receipts.reduce((earliest, one) => (earliest && earliest.at <= one.at ? earliest : one), null);
    if (!first || first.at <= moment(token("expires_at"))) return null;
    const why = `The payee signed that it answered at ${first.atText}, after the payment token had expired.`;
    return finding("not_delivered", token("payee_did"), NOT_AS_AGREED, why);
  },
  // The complainant says that nothing came, and names the digest of the answer that the receipt states.
  async function delivered(facts) {
    const { bundle, token, evidence } = facts;
    const [caller, receipts] = [at(at(bundle, "dispute"), "complainant_did"), await facts.receipts()];
    const isForThis = receipts.length > 0 && receipts.every(({ request }) => request === token("request_digest"));
    if (caller !== token("caller_did") || !isForThis) return null;
    const had = evidence.filter((piece) => at(piece, "by") === caller).map((piece) => `sha256:${at(piece, "sha256")}`);
    const answers = new Set(receipts.map(({ answer }) => answer));
    if (answers.size !== 1 || !had.includes([...answers][0])) return null;
    const why = "The complainant has the answer whose digest the payee signed for this request.";
    return finding("delivered", caller, ["SERVICE_NOT_DELIVERED"], why);
  },
  // Delivered, and the caller that settles the token kept silent: it paid nothing, and brought nothing in the dispute either.
  async function notPaid(facts) {
    const { bundle, token } = facts;
    if (Number(at(bundle, "rules").text) < UNPAID_SINCE || token("settled_by") !== "caller") return null;
    if (!["released", "expired"].includes(token("status"))) return null;
    const [caller, receipts] = [token("caller_did"), await facts.receipts()];
    const isOfAnother = receipts.some(({ request }) => ![null, request].includes(token("request_digest")));
    if (!receipts.length || isOfAnother || facts.spoke(caller)) return null;
    const first = receipts.reduce((earliest, one) => (earliest.at <= one.at ? earliest : one));
    if (first.at > moment(token("ended_at")) || first.at > moment(token("expires_at"))) return null;
    const why = `The payee signed that it answered at ${first.atText}, and the caller did not pay.`;
    return finding("not_paid", caller, ["CONTRACT_VIOLATION", "OTHER"], why);
  },
];

class Facts {
  constructor(bundle) {
    this.bundle = bundle;
    this.evidence = at(bundle, "evidence");
    this.contract = (name) => at(at(bundle, "contract"), name);
    this.token = (name) => at(at(bundle, "token"), name);
  }

  // Whether an agent complained or brought evidence.
  spoke(did) {
    return at(at(this.bundle, "dispute"), "complainant_did") === did || this.evidence.some((piece) => at(piece, "by") === did);
  }

  // The receipts of the payee for the token, each signed by a key that the payee had then.
  async receipts() {
    const keys = at(at(this.bundle, "keys"), "agents").get(this.token("payee_did")) ?? [];
    const found = [];
    for (const signed of await this.signed("pay-delivery+jws")) {
      const stated = signed.payload;
      const [request, answer, signedAt] = ["request_digest", "answer_digest", "at"].map((name) => stated.get(name));
      const isForToken = stated.get("kind") === "pay.delivery.v1" && stated.get("token_id") === this.token("token_id");
      const time = momentOf(signedAt);
      const isWellFormed = isForToken && time !== null && typeof request === "string" && typeof answer === "string";
      if (isWellFormed && (await isBy(signed, keys, time))) found.push({ request, answer, at: time, atText: signedAt });
    }
    return found;
  }

  // The quotes of the registry that were in force when the token was authorized, for its caller and payee.
  async quotes() {
    const authorized = moment(this.token("created_at"));
    const expected = ["pay.quote.v1", this.token("caller_did"), this.token("payee_did"), at(this.bundle, "currency")];
    const found = [];
    for (const signed of await this.signed("payment-quote+jws")) {
      const quote = signed.payload;
      const stated = ["kind", "caller", "payee", "currency"].map((name) => quote.get(name));
      const times = ["iat", "exp"].map((name) => quote.get(name));
      if (stated.some((value, place) => value !== expected[place]) || !times.every(isWhole)) continue;
      const [issued, expires] = times.map(({ text }) => BigInt(text) * SECOND);
      const isInForce = issued >= 0n && issued <= authorized && authorized <= expires;
      if (isInForce && (await isBy(signed, at(at(this.bundle, "keys"), "registry"), issued))) found.push(quote);
    }
    return found;
  }

  // Evidence whose note is a signature of this type, and whose digest is that of the note.
  async signed(typ) {
    const found = [];
    for (const piece of this.evidence) {
      const note = at(piece, "note");
      const signed = readCompact(note, typ);
      if (signed !== null && hex(await sha256(octetsOf(note))) === at(piece, "sha256")) found.push(signed);
    }
    return found;
  }
}

async function isBy({ signature, message }, keys, time) {
  for (const key of keys) {
    const [since, until] = [moment(at(key, "valid_from")), momentOf(at(key, "valid_until"))];
    if (since - (since % SECOND) > time || (until !== null && time > until)) continue;
    try {
      if (await isSigned(publicKeyOf(at(key, "public_key_jwk")), signature, message)) return true;
    } catch (trouble) {
      if (!(trouble instanceof NotAKey)) throw trouble;
    }
  }
  return false;
}

function at(value, name) {
  if (!(value instanceof Map) || !value.has(name)) throw new Unreadable(`the bundle lacks ${name}`);
  return value.get(name);
}

function moment(text) {
  const found = momentOf(text);
  if (found === null) throw new Unreadable(`the bundle has no time in ${text}`);
  return found;
}
