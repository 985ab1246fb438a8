// Whether a registry stands behind a contract as evidence of an authorization: the steps of `hansa_verify.verify_contract_proof`.
// The proof has a digest, the registry card has it in an authorization of its block `compliance`, and signs the digest of that block.

import { canonical, read, Unreadable } from "./canonical.js";
import { firstError } from "./schema.js";
import { Fails, hex, momentOf, now, octetsOf, readStrictly, sha256, step } from "./verdict.js";
import { verifyRegistryCard } from "./verify_registry_card.js";

const PROOF = read(`{
  "type": "object",
  "required": ["contract_id", "subset", "digest", "authorization_id", "verdict"],
  "additionalProperties": false,
  "properties": {
    "contract_id": {"type": "integer", "minimum": 1},
    "subset": {"type": "object"},
    "digest": {"type": "string", "pattern": "[0-9a-f]{64}"},
    "authorization_id": {"type": "string", "minLength": 1, "maxLength": 64},
    "verdict": {"type": "string", "enum": ["attestation-grade"]}
  }
}`);
const AUTHORIZATION = read(`{
  "type": "object",
  "required": ["id", "action", "authority", "evidence"],
  "properties": {
    "id": {"type": "string"},
    "action": {"type": "string"},
    "authority": {"type": "string"},
    "valid_until": {
      "type": ["string", "null"],
      "pattern": "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\\\.([0-9]{3}|[0-9]{6}))?(Z|[+-][0-9]{2}:[0-9]{2})"
    },
    "evidence": {
      "type": "object",
      "required": ["tier", "contract_id", "contract_digest"],
      "properties": {
        "tier": {"const": "contract"},
        "contract_id": {"type": "integer"},
        "contract_digest": {"type": "string"}
      }
    }
  }
}`);

export async function verifyContractProof(text, card, keys, { schema, at = now() }) {
  const judged = new Judged(text, card, keys, schema, at);
  const steps = [];
  for (const name of ["proof", "digest", "card", "compliance", "authorization"]) {
    try {
      steps.push(step(name, true, await judged[name]()));
    } catch (trouble) {
      if (!(trouble instanceof Fails)) throw trouble;
      return { code: name, steps: [...steps, step(name, false, trouble.message)] };
    }
  }
  return { code: "verified", steps };
}

const refuse = (said) => new Fails(null, null, said);

class Judged {
  constructor(text, cardText, keys, schema, at) {
    Object.assign(this, { text, cardText, keys, cardSchema: schema, at });
  }

  proof() {
    this.stated = strictly(this.text, "");
    const found = firstError(this.stated, PROOF);
    if (found) throw refuse(`${found.path || "the document"} ${found.said}`);
    return `contract ${this.stated.get("contract_id").text}`;
  }

  async digest() {
    if ((await digestOf(this.stated.get("subset"))) !== this.stated.get("digest")) throw refuse("the digest is not that of the subset");
    return `the digest of the subset is ${this.stated.get("digest")}`;
  }

  async card() {
    const { code } = await verifyRegistryCard(this.cardText, this.keys, { schema: this.cardSchema, at: this.at });
    if (code !== "verified") throw refuse(`the registry card is not verified: ${code}`);
    return "the registry card is verified";
  }

  // The block is covered by its digest, which the card signs when it lists the path.
  async compliance() {
    const card = strictly(this.cardText, "the card has a number with two readings: ");
    const block = new Map(card.get("compliance") ?? []);
    const stated = block.get("digest");
    block.delete("digest");
    const isSigned = card.get("signature").get("signed_canonical").includes("compliance.digest");
    if (!isSigned || stated !== `sha256:${await digestOf(block)}`) {
      throw refuse("the card signs no digest of its block compliance, or another one");
    }
    this.authorizations = block.get("authorizations") ?? [];
    return `${this.authorizations.length} authorizations`;
  }

  authorization() {
    const named = this.authorizations.filter((one) => one.get("id") === this.stated.get("authorization_id"));
    if (named.length !== 1) throw refuse(`the card has ${named.length} authorizations of that id, not one`);
    const [found] = named;
    const error = firstError(found, AUTHORIZATION);
    if (error) throw refuse(`${error.path} ${error.said}`);
    const [evidence, ends] = [found.get("evidence"), found.get("valid_until") ?? null];
    const isSame =
      BigInt(evidence.get("contract_id").text) === BigInt(this.stated.get("contract_id").text) &&
      evidence.get("contract_digest") === this.stated.get("digest");
    if (!isSame) throw refuse("its evidence is another contract");
    const moment = momentOf(ends);
    if (ends !== null && (moment === null || moment <= this.at)) throw refuse(`the authorization ended at ${ends}`);
    return `${found.get("action")} by ${found.get("authority")}`;
  }
}

const digestOf = async (value) => hex(await sha256(octetsOf(canonical(value))));

function strictly(text, prefix) {
  try {
    return readStrictly(text);
  } catch (trouble) {
    if (trouble instanceof Unreadable) throw refuse(prefix + trouble.message);
    throw trouble;
  }
}
