// Whether a registry stands behind its registry card 0.6: the steps and codes of `hansa_verify.verify_registry_card`. Keys come from
// the reader, and so does the schema, as `read` gives it.

import { canonical, Unreadable } from "./canonical.js";
import { base64url, bytesOf, isSigned, NotBase64url } from "./ed25519.js";
import { decimalOf, readExactly } from "./exact.js";
import { firstError } from "./schema.js";
import { readEntry, requireInForce, requireInGrace, SKEW } from "./verify_card.js";
import { Fails, hex, momentOf, now, octetsOf, sha256, shownMoment, step } from "./verdict.js";

const CARD_MAX_BYTES = 256 * 1024;
const STRING_MAX_CHARACTERS = 2048;
const FRACTION_DIGITS_MAX = 6;
const JWS_TYPE = "registry-card+jws";
const BASIC_PATHS = [
  "registry_card_version",
  "identity.spiffe_id",
  "identity.registry_name",
  "identity.trust_domain",
  "identity.tier",
  "visual.sovereign_variant",
  "federation.is_genesis_registry",
  "federation.is_sovereign_frame",
  "federation.policy_hash",
  "fees.cross_registry.base_rate_percent",
  "fees.hosting.enabled",
  "fees.hosting.rate_percent_of_agent_service_fee",
  "lifecycle.card_etag",
];

const EDITABLE_BLOCKS = ["operator", "description", "tags", "visual", "links", "commitments"];
const ETAG_HEX_DIGITS = 32;

export async function verifyRegistryCard(text, keys, { schema, at = now() }) {
  const judged = new Judged(text, keys, schema, at);
  const steps = [];
  for (const name of ["form", "namespace", "schema", "key", "paths", "signature", "window", "domain"]) {
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
  constructor(text, keys, schema, at) {
    Object.assign(this, { text, keys, form06: schema, at });
  }

  form() {
    if (octetsOf(this.text).length > CARD_MAX_BYTES) throw refuse("too_large", `a registry card has at most ${CARD_MAX_BYTES} bytes`);
    try {
      this.card = readExactly(this.text);
    } catch (trouble) {
      if (trouble instanceof Unreadable) throw refuse("malformed", trouble.message);
      throw trouble;
    }
    if (!(this.card instanceof Map)) throw refuse("malformed", "a registry card is an object");
    if (hasLongText(this.card)) throw refuse("string_too_long", `a string has more than ${STRING_MAX_CHARACTERS} characters`);
    return "strict JSON within its limits";
  }

  // Before the schema, so that its refusals keep their codes.
  namespace() {
    const [namespace, domain] = ["did_namespace", "trust_domain"].map((name) => valueAt(this.card, `identity.${name}`));
    if (namespace === null) return "the card states no namespace";
    const form = ["identity", "did_namespace"].reduce((schema, name) => schema.get("properties").get(name), this.form06);
    if (firstError(namespace, form)) throw refuse("did_namespace_invalid", "did_namespace is malformed or reserved");
    if (namespace !== domain) throw refuse("did_namespace_mismatch", `did_namespace ${namespace} is not the trust domain`);
    return `did_namespace ${namespace}`;
  }

  schema() {
    const found = firstError(this.card, this.form06);
    if (found) {
      const code = found.path === "registry_card_version" ? "version_unknown" : "schema_violated";
      throw refuse(code, `${found.path || "the card"} ${found.said}`);
    }
    if (!this.card.has("signature")) throw refuse("unsigned", "the card has no signature");
    this.block = this.card.get("signature");
    return "every member is one of registry card 0.6";
  }

  key() {
    const named = this.keys.filter(({ kid }) => kid === this.block.get("kid"));
    if (named.length !== 1) throw refuse("unknown_key", `the registry has no key ${this.block.get("kid")}`);
    requireInGrace(named[0], this.at);
    [this.signer] = named;
    return `signed with ${this.signer.kid}`;
  }

  paths() {
    const listed = this.block.get("signed_canonical");
    const missing = BASIC_PATHS.filter((path) => !listed.includes(path));
    if (missing.length) throw refuse("paths_missing", `the card does not sign ${missing.join(", ")}`);
    if (new Set(listed).size !== listed.length) throw refuse("paths_missing", "a signed path is listed twice");
    return `${listed.length} signed paths`;
  }

  async signature() {
    const signed = new Map(this.block.get("signed_canonical").map((path) => [path, valueAt(this.card, path)]));
    signed.set("_signed_at", this.block.get("signed_at")).set("_expires_at", this.block.get("expires_at"));
    this.signed = signed;
    let payload, value;
    try {
      [payload, value] = [octetsOf(canonical(signed, printedShort)), bytesOf(this.block.get("value"))];
    } catch (trouble) {
      if (trouble instanceof Unreadable || trouble instanceof NotBase64url) throw refuse("malformed", trouble.message);
      throw trouble;
    }
    if (!(await isSigned(this.signer.point, value, payload))) throw refuse("bad_signature", "the signed leaves are not what was signed");
    if (this.block.has("jws")) await this.requireSameByJws(payload);
    await this.requireEtag();
    return "the signed leaves are as they were signed, and the entity tag is that of the content";
  }

  // The signed entity tag is that of the signed leaves and of what the operator states.
  async requireEtag() {
    const stated = this.signed.get("lifecycle.card_etag");
    const paths = this.block.get("signed_canonical").filter((path) => !path.startsWith("lifecycle."));
    const editable = EDITABLE_BLOCKS.filter((name) => this.card.has(name)).map((name) => [name, this.card.get(name)]);
    const core = paths.map((path) => [path, valueAt(this.card, path)]);
    let content;
    try {
      content = canonical(new Map([["editable", new Map(editable)], ["signed", new Map(core)]]));
    } catch (trouble) {
      if (trouble instanceof Unreadable) throw refuse("malformed", trouble.message);
      throw trouble;
    }
    const found = hex(await sha256(octetsOf(content))).slice(0, ETAG_HEX_DIGITS);
    if (stated !== found) throw refuse("etag_mismatch", `the entity tag ${stated} is not that of the content, ${found}`);
  }

  window() {
    const [signedAt, expiresAt] = ["signed_at", "expires_at"].map((name) => momentOf(this.block.get(name)));
    if (signedAt === null || expiresAt === null) throw refuse("malformed", "signed_at and expires_at are times");
    if (signedAt > this.at + SKEW) throw refuse("from_the_future", `signed at ${shownMoment(signedAt)}`);
    if (expiresAt <= signedAt) throw refuse("malformed", "the signature expires before it begins");
    if (this.at >= expiresAt) throw refuse("expired", `the signature expired at ${shownMoment(expiresAt)}`);
    requireInForce(this.signer, signedAt);
    return `valid from ${shownMoment(signedAt)} until ${shownMoment(expiresAt)}`;
  }

  domain() {
    const [spiffeId, domain] = ["identity.spiffe_id", "identity.trust_domain"].map((path) => this.signed.get(path));
    if (spiffeId.replace(/^spiffe:\/\//, "").split("/")[0] !== domain) {
      throw refuse("trust_domain_mismatch", `${spiffeId} is not of the trust domain ${domain}`);
    }
    return `trust domain ${domain}`;
  }

  async requireSameByJws(payload) {
    const jws = this.block.get("jws");
    const place = jws.indexOf("..");
    const parts = place < 0 ? [jws, ""] : [jws.slice(0, place), jws.slice(place + 2)];
    const { header, signature, protectedPart } = readJws(parts);
    const isAsExpected = header.size === 3 && header.get("kid") === this.signer.kid && header.get("typ") === JWS_TYPE;
    if (!isAsExpected) throw refuse("malformed", `the protected header of jws is alg, kid and typ ${JWS_TYPE}`);
    const message = octetsOf(`${protectedPart}.${base64url(payload)}`);
    if (!(await isSigned(this.signer.point, signature, message))) throw refuse("bad_signature", "jws does not sign the same leaves");
  }
}

function readJws([protectedPart, signature]) {
  try {
    return readEntry(new Map([["protected", protectedPart], ["signature", signature]]));
  } catch (trouble) {
    throw trouble instanceof Fails ? refuse("malformed", `jws: ${trouble.message}`) : trouble;
  }
}

function hasLongText(value) {
  if (typeof value === "string") return [...value].length > STRING_MAX_CHARACTERS;
  if (value instanceof Map) return [...value].flat().some(hasLongText);
  return Array.isArray(value) && value.some(hasLongText);
}

function valueAt(card, path) {
  return path.split(".").reduce((block, name) => (block instanceof Map ? (block.get(name) ?? null) : null), card);
}

// A number without an exponent and with at most six fraction digits.
function printedShort(number) {
  if (number.isWhole) return number.text === "-0" ? "0" : number.text;
  let { digits, power } = decimalOf(number);
  if (digits === 0n) return "0";
  while (digits % 10n === 0n) [digits, power] = [digits / 10n, power + 1];
  if (power < -FRACTION_DIGITS_MAX) throw new Unreadable(`a signed number has at most ${FRACTION_DIGITS_MAX} fraction digits`);
  if (power >= 0) return String(digits * 10n ** BigInt(power));
  const [sign, text] = digits < 0n ? ["-", String(-digits)] : ["", String(digits)];
  const padded = text.padStart(1 - power, "0");
  return `${sign}${padded.slice(0, power)}.${padded.slice(power)}`;
}
