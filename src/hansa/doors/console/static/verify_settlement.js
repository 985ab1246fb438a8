// Whether a registry stands behind its part of a slash across registries: the steps of `hansa_verify.verify_settlement`.

import { canonical, read, Unreadable } from "./canonical.js";
import { isSigned } from "./ed25519.js";
import { compared, decimal } from "./exact.js";
import { firstError } from "./schema.js";
import { Fails, isSame, now, octetsOf, readStrictly, shownMoment, step } from "./verdict.js";
import { DOCUMENT_MAX_BYTES, judgedTime, readCompact, signerOf, verifyCard } from "./verify_card.js";

export const SETTLEMENT_KIND = "slash.evidence.v1";
const MESSAGE_TYPE = "fed-slash+jws";
const MESSAGE_MAX_CHARACTERS = 800_000;
const AMOUNT = `{"type": "string", "maxLength": 32, "pattern": "(0|[1-9][0-9]*)(\\\\.[0-9]{1,8})?"}`;
const DID = `{"type": "string", "minLength": 1, "maxLength": 512}`;
const EVIDENCE = read(`{
  "type": "object",
  "required": ["kind", "messages"],
  "additionalProperties": false,
  "properties": {
    "kind": {"const": "slash.evidence.v1"},
    "messages": {"type": "array", "minItems": 1, "maxItems": 4, "items": {"type": "string", "maxLength": 800000}}
  }
}`);
const MESSAGE = read(`{
  "type": "object",
  "required": ["kind", "type", "dispute_id", "defendant_did", "complainant_did", "amount", "currency", "iat"],
  "properties": {
    "kind": {"const": "fed.slash.v1"},
    "type": {"type": "string", "enum": ["slash-request", "slash-confirmation", "slash-award", "slash-paid", "slash-receipt"]},
    "dispute_id": {"type": "integer", "minimum": 1, "maximum": 9223372036854775807},
    "defendant_did": ${DID},
    "complainant_did": ${DID},
    "amount": ${AMOUNT},
    "currency": {"type": "string", "pattern": "[A-Z0-9]{2,8}"},
    "iat": {"type": "integer"},
    "settlement_id": {"type": "integer", "minimum": 1, "maximum": 9223372036854775807},
    "status": {"type": "string", "enum": ["PENDING_SLASH", "SLASHING", "SLASHED", "SETTLED", "FAILED", "EXPIRED"]},
    "slashed_amount": ${AMOUNT},
    "compensation_amount": ${AMOUNT},
    "tx_id": {"type": "string", "maxLength": 64},
    "reason": {"type": "string", "maxLength": 500},
    "payment": {"type": "string", "minLength": 1, "maxLength": 200},
    "proof": {"type": "string", "maxLength": 800000},
    "verdict": {"type": "object"}
  }
}`);
const CLAIM = ["dispute_id", "defendant_did", "complainant_did", "amount", "currency"];
// What each type of message has beside the claim.
const MEMBERS = {
  "slash-request": ["verdict"],
  "slash-confirmation": ["settlement_id", "status", "slashed_amount"],
  "slash-award": ["slashed_amount", "compensation_amount", "verdict"],
  "slash-paid": ["slashed_amount", "compensation_amount", "proof"],
  "slash-receipt": ["status"],
};
// What names an award; a receipt of an outcome has none of it.
const AWARD = ["slashed_amount", "compensation_amount", "payment"];
const DESTROYED = ["SLASHED", "SETTLED"];
const DECIDED = [...DESTROYED, "FAILED", "EXPIRED"];

export async function verifySettlement(text, keys, { at = now() } = {}) {
  const judged = new Judged(text, keys, at);
  const steps = [];
  for (const name of ["form", "key", "time", "signature", "claim", "outcome", "facts"]) {
    try {
      steps.push(step(name, true, await judged[name]()));
    } catch (trouble) {
      if (!(trouble instanceof Fails)) throw trouble;
      return { code: trouble.code, steps: [...steps, step(name, false, trouble.message)] };
    }
  }
  return { code: "verified", steps };
}

const refuse = (code, said) => new Fails(code, null, said);

class Judged {
  constructor(text, keys, at) {
    Object.assign(this, { text, keys, at });
  }

  form() {
    if (octetsOf(this.text).length > DOCUMENT_MAX_BYTES) throw refuse("malformed", `a document has at most ${DOCUMENT_MAX_BYTES} bytes`);
    const document = strictly(this.text);
    const found = firstError(document, EVIDENCE);
    if (found) throw refuse("malformed", `${found.path || "the document"} ${found.said}`);
    this.messages = document.get("messages").map(readMessage);
    const types = this.messages.map(({ payload }) => payload.get("type"));
    if (new Set(types).size !== types.length) throw refuse("malformed", "two messages are of the same type");
    return types.join(", ");
  }

  key() {
    this.signers = this.messages.map((message) => signerOf(message, this.keys));
    return `signed with ${[...new Set(this.signers.map(({ kid }) => kid))].join(", ")}`;
  }

  time() {
    const times = this.messages.map(({ payload }, place) => judgedTime(payload.get("iat"), this.signers[place], this.at));
    return `signed at ${times.map(shownMoment).join(", ")}`;
  }

  async signature() {
    for (const [place, { payload, signature, message }] of this.messages.entries()) {
      if (!(await isSigned(this.signers[place].point, signature, message))) {
        throw refuse("bad_signature", `the ${payload.get("type")} is not what was signed`);
      }
    }
    return "every message is as it was signed";
  }

  claim() {
    const [first, ...others] = this.messages.map(({ payload }) => payload);
    if (others.some((other) => !CLAIM.every((name) => isSame(other.get(name), first.get(name))))) {
      throw refuse("claim", "the messages are about different claims");
    }
    const amount = first.get("amount");
    if (compared(decimal(amount), ZERO) <= 0) throw refuse("claim", "the amount must be greater than 0");
    return `dispute ${first.get("dispute_id").text}, ${amount} ${first.get("currency")} of ${first.get("defendant_did")}`;
  }

  outcome() {
    const said = this.messages.map(({ payload }) => outcomeOf(payload)).join("; ");
    const [award, ...others] = this.messages.map(({ payload }) => payload).filter(namesAward);
    if (award && !others.every((other) => AWARD.every((name) => isSame(other.get(name), award.get(name))))) {
      throw refuse("outcome", "the messages are about different awards");
    }
    return said;
  }

  // A registry asks and awards on facts that it signed itself.
  async facts() {
    const stated = this.messages.map(({ payload }) => payload).filter((one) => MEMBERS[one.get("type")].includes("verdict"));
    for (const one of stated) {
      const bundle = one.get("verdict");
      const { code } = await verifyCard(canonical(bundle), this.keys, { typ: "dispute-bundle+jws", at: this.at });
      if (code !== "verified") throw refuse("facts", `the facts of the dispute are not verified: ${code}`);
      const complaint = bundle.get("dispute");
      const names = ["id", "defendant_did", "complainant_did"];
      const isOfClaim = complaint instanceof Map && names.every((name, place) => isSame(complaint.get(name), one.get(CLAIM[place])));
      if (!isOfClaim) throw refuse("facts", "the facts are of another dispute");
    }
    return stated.length ? "signed facts of the dispute" : "these messages rest on no facts";
  }
}

const ZERO = decimal("0");

function strictly(text) {
  try {
    return readStrictly(text);
  } catch (trouble) {
    if (trouble instanceof Unreadable) throw refuse("malformed", trouble.message);
    throw trouble;
  }
}

function readMessage(text) {
  const message = readCompact(text, MESSAGE_TYPE, MESSAGE_MAX_CHARACTERS);
  if (!message) throw refuse("malformed", `a message is not a compact JWS of the type ${MESSAGE_TYPE}`);
  const found = firstError(message.payload, MESSAGE);
  if (found) throw refuse("malformed", `${found.path} ${found.said}`);
  const type = message.payload.get("type");
  const missing = MEMBERS[type].find((name) => !message.payload.has(name));
  if (missing) throw refuse("malformed", `${missing} is required in a ${type}`);
  return message;
}

// What one message states, if its amounts and its status agree.
function outcomeOf(stated) {
  const [type, status] = [stated.get("type"), stated.get("status")];
  if (type === "slash-request") return `${stated.get("amount")} asked for`;
  if (type === "slash-receipt") {
    if (!DECIDED.includes(status)) throw refuse("outcome", `a receipt is for a final status, not for ${status}`);
    return namesAward(stated) ? `${status} acknowledged of ${awardOf(stated)}` : `${status} acknowledged`;
  }
  if (type === "slash-award") return awardOf(stated);
  if (type === "slash-paid") return `${awardOf(stated)} and paid`;
  const said = slashOf(stated);
  const slashed = decimal(stated.get("slashed_amount"));
  if (DESTROYED.includes(status) !== compared(slashed, ZERO) > 0) throw refuse("outcome", `${said} does not agree with ${status}`);
  return `${status}, ${said}`;
}

const namesAward = (stated) => stated.has("compensation_amount") && stated.has("slashed_amount");

function slashOf(stated) {
  const slashed = decimal(stated.get("slashed_amount"));
  if (compared(slashed, decimal(stated.get("amount"))) > 0) throw refuse("outcome", "more was slashed than the amount of the claim");
  return `${stated.get("slashed_amount")} slashed`;
}

function awardOf(stated) {
  const said = slashOf(stated);
  const compensation = decimal(stated.get("compensation_amount"));
  if (compared(compensation, ZERO) <= 0 || compared(compensation, decimal(stated.get("slashed_amount"))) > 0) {
    throw refuse("outcome", "a compensation is greater than 0, and at most what was slashed");
  }
  return `${said}, ${stated.get("compensation_amount")} awarded`;
}
