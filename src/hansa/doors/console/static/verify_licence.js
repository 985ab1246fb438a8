// Whether a licence certificate counts: its form, its chain, its root, and what the issuers' lists state. The steps and verdicts are
// those of `hansa_verify.verify_licence`.

import { canonical, Numeral } from "./canonical.js";
import { base64url, isSigned, NotAKey, publicKeyOf } from "./ed25519.js";
import { Fails, hex, isWhole, now, octetsOf, sha256, shownMoment, step } from "./verdict.js";
import { readCompact } from "./verify_card.js";

const CERTIFICATE = { kind: "fed.licence.v1", typ: "licence+jws", most: 16_384 };
const LIST = { kind: "fed.licence-list.v1", typ: "licence-list+jws", most: 8_388_608 };
const FRAME_PLANS = ["founding", "private", "educational", "research", "non-profit", "enterprise", "government"];
const PARENT_OF = { operator: "frame", frame: "genesis", genesis: "genesis" };
const STATES = ["active", "suspended", "revoked", "superseded", "expired"];
const ENDED = ["revoked", "suspended", "superseded"];
const MEMBERS = ["kind", "lid", "type", "sub", "iss", "network", "plan", "terms", "iat", "exp"];
const LISTED = ["hash", "lid", "type", "sub_trust_domain", "sub_name", "plan", "iat", "exp", "state", "updated_at"];
const SUB_MAX = { name: 255, url: 500, spiffe: 255 };
const DOMAIN = /^(?=.{3,255}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/;
const PLAN = /^[a-z0-9][a-z0-9-]{0,39}$/;
const HASH = /^[0-9a-f]{64}$/;
const SKEW = 60_000_000n;
const LIST_MAX_AGE = 7n * 24n * 3_600_000_000n;

class BadLicence extends Error {}

export async function verifyLicence(certificate, chain, { root = null, lists = [], at = now(), statedHash = null } = {}) {
  return new LicenceJudge(at, root).verdict(certificate, chain, lists, statedHash);
}

export class LicenceJudge {
  constructor(at, root) {
    Object.assign(this, { at, root, steps: [], path: [], parents: [], lists: [], asOf: null });
    Object.assign(this, { skew: SKEW, unissued: "malformed" });
  }

  async verdict(certificate, chain, lists, statedHash) {
    try {
      await this.read(certificate, chain, lists, statedHash);
      await this.walk();
      this.judgeRoot();
      await this.judgeLists();
    } catch (trouble) {
      if (!(trouble instanceof Fails)) throw trouble;
      return { code: trouble.code, reason: trouble.message, steps: [...this.steps, step(trouble.step, false, trouble.message)] };
    }
    return { code: "verified", reason: "every step holds", steps: this.steps };
  }

  holds(name, said) {
    this.steps.push(step(name, true, said));
  }

  async read(certificate, chain, lists, statedHash) {
    try {
      this.path = [await readCertificate(certificate)];
      for (const text of chain) this.parents.push(await readCertificate(text));
      this.lists = lists.map(readList);
    } catch (trouble) {
      if (trouble instanceof BadLicence) throw new Fails("malformed", "format", trouble.message);
      throw trouble;
    }
    if (statedHash !== null && statedHash !== this.path[0].hash) {
      throw new Fails("malformed", "format", `the document states another hash than ${this.path[0].hash}`);
    }
    this.holds("format", `a certificate of type ${this.path[0].type}, hash ${this.path[0].hash}`);
  }

  async walk() {
    for (;;) {
      const child = this.path.at(-1);
      const parent = child.type === "genesis" ? child : this.parentOf(child);
      if (!(await isSigned(parent.point, child.signature, child.message))) {
        throw new Fails("malformed", "signature", `${child.hash} is not signed by the key of its issuer`);
      }
      requireTypeRules(child, parent);
      if (epoch(child.payload.get("iat")) > this.at + this.skew) {
        throw new Fails(this.unissued, "issue time", `${child.hash} was issued in the future`);
      }
      if (child === parent) break;
      this.path.push(parent);
    }
    this.holds("chain", this.path.map(({ type }) => type).join(" issued by "));
  }

  judgeRoot() {
    const { hash } = this.path.at(-1);
    if (this.root === null) throw new Fails("unverified", "root", "no_trusted_root: no genesis certificate is trusted here");
    if (hash !== this.root.replace(/^sha256:/, "")) {
      throw new Fails("untrusted_root", "root", `the genesis certificate ${hash} is not the trusted one`);
    }
    this.holds("root", `the genesis certificate ${hash} is the trusted one`);
  }

  async judgeLists() {
    const troubles = [];
    for (const [place, one] of this.path.entries()) {
      troubles.push(...(await this.troublesOf(one, this.path[Math.min(place + 1, this.path.length - 1)].point)));
    }
    const ended = troubles.filter(({ code }) => ENDED.includes(code)).sort((one, other) => ENDED.indexOf(one.code) - ENDED.indexOf(other.code));
    if (ended.length) throw ended[0];
    const ends = this.path.map(({ payload }) => payload.get("exp")).filter((exp) => exp !== null).map(epoch);
    const first = ends.length ? ends.reduce((one, other) => (one < other ? one : other)) : null;
    if (first !== null && first <= this.at) throw new Fails("expired", "expiry", `expired at ${shownMoment(first)}`);
    this.holds("expiry", first === null ? "perpetual" : `until ${shownMoment(first)}`);
    if (troubles.length) throw troubles[0];
    this.holds("lists", `not revoked as of ${shownMoment(this.asOf)}`);
  }

  parentOf(child) {
    const found = this.parents.find(
      ({ point, payload, thumbprint }) => point && child.issuer[0] === payload.get("sub").get("trust_domain") && child.issuer[1] === thumbprint,
    );
    if (found) return found;
    if (child.type === "operator" && child.payload.get("network") === null) {
      throw new Fails("unverified", "chain", "no_network: its frame belongs to no network");
    }
    throw new Fails("unverified", "chain", `no_issuer: the chain lacks the issuer of ${child.hash}`);
  }

  async troublesOf(one, issuerPoint) {
    const signed = [];
    for (const list of this.lists) {
      const isIssuers = list.issuer[0] === one.issuer[0] && list.issuer[1] === one.issuer[1];
      if (isIssuers && (await isSigned(issuerPoint, list.signature, list.message))) signed.push(list);
    }
    return this.troublesBy(one, signed);
  }

  // By the newest of these lists of its issuer.
  troublesBy(one, signed) {
    const present = signed.filter((list) => list.generatedAt <= this.at + this.skew);
    if (!present.length) return [unlisted(`no_list: no list of ${one.issuer[0]} is at hand`)];
    const generatedAt = present.map((list) => list.generatedAt).reduce((one, other) => (one > other ? one : other));
    this.knownAsOf(generatedAt);
    const newest = present.filter((list) => list.generatedAt === generatedAt);
    const troubles = newest.flatMap((list) => this.stated(one, list));
    troubles.push(...differingLists(one, newest));
    if (this.at - generatedAt > LIST_MAX_AGE) {
      troubles.push(unlisted(`old_list: the list of ${one.issuer[0]} is of ${shownMoment(generatedAt)}`));
    }
    return troubles;
  }

  knownAsOf(moment) {
    if (this.asOf === null || moment < this.asOf) this.asOf = moment;
  }

  stated(one, newest) {
    const entries = newest.licences.filter((entry) => names(entry, one));
    const own = entries.filter((entry) => entry.get("hash") === one.hash);
    const troubles = [];
    const contradicts = (how) => troubles.push(unlisted(`contradiction: ${one.issuer[0]} lists ${one.hash} ${how}`));
    if (!own.length) troubles.push(unlisted(`not_listed: ${one.issuer[0]} does not list ${one.hash}`));
    for (const state of entries.map((entry) => entry.get("state"))) {
      if (ENDED.includes(state) && !(state === "superseded" && this.isCovered(one, newest))) {
        troubles.push(new Fails(state, "lists", `${one.issuer[0]} lists ${one.hash} as ${state}`));
      }
    }
    if (new Set(own.map((entry) => entry.get("state"))).size > 1) contradicts("in two states");
    const [sub, ends] = [one.payload.get("sub"), one.payload.get("exp")];
    for (const entry of own) {
      const repeated = ["lid", "type", "plan", "iat", "exp"].map((name) => [name, one.payload.get(name)]);
      repeated.push(["sub_trust_domain", sub.get("trust_domain")], ["sub_name", sub.get("name")]);
      const differing = repeated.filter(([name, value]) => !isSame(entry.get(name), value)).map(([name]) => name);
      if (differing.length) contradicts(`with another ${differing.join(", ")}`);
      if (entry.get("state") === "expired" && (ends === null || epoch(ends) > newest.generatedAt)) contradicts("as expired before it expires");
    }
    return troubles;
  }

  isCovered(one, newest) {
    const active = newest.licences
      .filter((entry) => entry.get("state") === "active" && isOfSubject(entry, one))
      .map((entry) => entry.get("hash"));
    if (one.type === "operator") return active.length > 0;
    return this.parents.some(({ hash, thumbprint }) => active.includes(hash) && thumbprint === one.thumbprint);
  }
}

export const unlisted = (said) => new Fails("unverified", "lists", said);

export const names = (entry, one) => entry.get("hash") === one.hash || entry.get("lid") === one.payload.get("lid");

export function isOfSubject(entry, one) {
  const sub = one.payload.get("sub");
  const isOfDomain = entry.get("type") === one.type && entry.get("sub_trust_domain") === sub.get("trust_domain");
  return isOfDomain && (one.type !== "operator" || entry.get("sub_name") === sub.get("name"));
}

// A trouble when lists of one second differ.
export function differingLists(one, lists) {
  if (new Set(lists.map(({ payload }) => canonical(payload))).size < 2) return [];
  return [unlisted(`two_lists: ${one.issuer[0]} signed two different lists at ${shownMoment(lists[0].generatedAt)}`)];
}

async function readCertificate(text) {
  const compact = compactOf(text, CERTIFICATE);
  const { payload } = compact;
  const type = payload.get("type");
  require(payload.get("kind") === CERTIFICATE.kind, `kind is ${CERTIFICATE.kind}`);
  require(typeof type === "string" && Object.hasOwn(PARENT_OF, type), "type is genesis, frame or operator");
  require(hasExactly(payload, type === "operator" ? MEMBERS : [...MEMBERS, "key"]), "its members are others");
  requireSubject(payload.get("sub"));
  requireIssuer(payload.get("iss"), compact.header);
  const network = payload.get("network");
  require(isDomain(network) || (network === null && type === "operator"), "network is a trust domain");
  require(isMatching(payload.get("plan"), PLAN), "the plan's form");
  require(isText(payload.get("terms"), 32), "terms has 1 to 32 characters");
  require(isText(payload.get("lid"), 128), "lid has 1 to 128 characters");
  require(isEpoch(payload.get("iat")), "iat is in seconds since the epoch");
  require(payload.get("exp") === null || isEpoch(payload.get("exp")), "exp is in seconds since the epoch, or null");
  const point = type === "operator" ? null : keyOf(payload.get("key"));
  const hash = hex(await sha256(octetsOf(trimmed(text))));
  const iss = payload.get("iss");
  return { ...compact, type, point, hash, thumbprint: point && (await thumbprintOf(point)), issuer: [iss.get("trust_domain"), iss.get("kid")] };
}

function readList(text) {
  const compact = compactOf(text, LIST);
  const { payload } = compact;
  require(payload.get("kind") === LIST.kind, `kind is ${LIST.kind}`);
  require(hasExactly(payload, ["kind", "issuer", "generated_at", "licences"]), "its members are others");
  const [issuer, licences] = [payload.get("issuer"), payload.get("licences")];
  require(issuer instanceof Map && hasExactly(issuer, ["trust_domain", "name", "kid"]), "the issuer's members");
  require(isDomain(issuer.get("trust_domain")) && isSame(issuer.get("kid"), compact.header.get("kid")), "the issuer's key");
  require(isEpoch(payload.get("generated_at")), "generated_at is in seconds since the epoch");
  require(Array.isArray(licences) && licences.every(isListed), "an entry has another form");
  return { ...compact, licences, issuer: [issuer.get("trust_domain"), issuer.get("kid")], generatedAt: epoch(payload.get("generated_at")) };
}

function compactOf(text, { typ, most }) {
  const compact = readCompact(typeof text === "string" ? trimmed(text) : text, typ, most);
  require(compact !== null, `not a compact JWS of type ${typ} of at most ${most} characters`);
  require(hasExactly(compact.header, ["alg", "kid", "typ"]), "its header has exactly alg, kid and typ");
  return compact;
}

// Without the whitespace of JSON around it; `trim` removes other characters than Python's `strip`.
function trimmed(text) {
  let [start, end] = [0, text.length];
  while (start < end && " \t\r\n".includes(text[start])) start += 1;
  while (start < end && " \t\r\n".includes(text[end - 1])) end -= 1;
  return text.slice(start, end);
}

function requireSubject(sub) {
  require(sub instanceof Map && sub.has("trust_domain") && sub.has("name"), "sub has trust_domain and name");
  require([...sub.keys()].every((name) => name === "trust_domain" || Object.hasOwn(SUB_MAX, name)), "sub has other members");
  require(isDomain(sub.get("trust_domain")), "sub.trust_domain is a domain of two labels or more");
  for (const [name, most] of Object.entries(SUB_MAX)) {
    require(!sub.has(name) || isText(sub.get(name), most), `sub.${name} has 1 to ${most} characters`);
  }
}

function requireIssuer(iss, header) {
  require(iss instanceof Map && hasExactly(iss, ["trust_domain", "name", "kid", "licence"]), "iss's members");
  require(isDomain(iss.get("trust_domain")), "iss.trust_domain is a domain of two labels or more");
  require(isText(iss.get("name"), SUB_MAX.name), "iss.name has 1 to 255 characters");
  require(isSame(iss.get("kid"), header.get("kid")), "iss.kid is the kid of the header");
  require(iss.get("licence") === null || isMatching(iss.get("licence"), HASH), "iss.licence");
}

// The type of certificate that carries a plan; a plan that the specification does not name is an operator's.
function kindOfPlan(plan) {
  if (plan === "genesis") return "genesis";
  return FRAME_PLANS.includes(plan) ? "frame" : "operator";
}

function requireTypeRules(child, parent) {
  const [sub, iss, network] = ["sub", "iss", "network"].map((name) => child.payload.get(name));
  const domain = sub.get("trust_domain");
  const rules = [
    ["its issuer has another type", parent.type === PARENT_OF[child.type]],
    ["it names another network than its issuer", network === parent.payload.get("network")],
    [`${child.payload.get("plan")} is no plan of a certificate of type ${child.type}`, kindOfPlan(child.payload.get("plan")) === child.type],
  ];
  if (child.type === "genesis") {
    const isOwn = child.issuer[0] === domain && child.issuer[1] === child.thumbprint && iss.get("licence") === null;
    rules.push(["a genesis certificate is issued to its issuer", isOwn && network === domain]);
  } else if (child.type === "frame") {
    rules.push(["a frame has another trust domain than the genesis", domain !== child.issuer[0]]);
  } else {
    rules.push(["an operator has the trust domain of its frame", domain === child.issuer[0]]);
  }
  for (const [reason, holds] of rules) if (!holds) throw new Fails("malformed", "type rules", `${child.hash}: ${reason}`);
}

function keyOf(jwk) {
  require(jwk instanceof Map && hasExactly(jwk, ["kty", "crv", "x"]), "key has kty, crv and x");
  try {
    return publicKeyOf(jwk);
  } catch (trouble) {
    if (trouble instanceof NotAKey) throw new BadLicence(`key: ${trouble.message}`);
    throw trouble;
  }
}

async function thumbprintOf(point) {
  return base64url(await sha256(octetsOf(`{"crv":"Ed25519","kty":"OKP","x":"${base64url(point)}"}`)));
}

function isListed(entry) {
  if (!(entry instanceof Map) || !hasExactly(entry, LISTED)) return false;
  const isExpiry = entry.get("exp") === null || isEpoch(entry.get("exp"));
  return (
    ["lid", "type", "sub_trust_domain", "sub_name", "plan"].every((name) => isText(entry.get(name), 255)) &&
    isEpoch(entry.get("iat")) && isEpoch(entry.get("updated_at")) && isExpiry &&
    isMatching(entry.get("hash"), HASH) && STATES.includes(entry.get("state"))
  );
}

function require(holds, said) {
  if (!holds) throw new BadLicence(said);
}

const hasExactly = (map, names) => map.size === names.length && names.every((name) => map.has(name));
const isMatching = (value, pattern) => typeof value === "string" && pattern.test(value);
const isDomain = (value) => isMatching(value, DOMAIN);
const isText = (value, most) => typeof value === "string" && value !== "" && [...value].length <= most;
const isEpoch = (value) => isWhole(value) && !value.text.startsWith("-") && BigInt(value.text) < 10n ** 11n;
export const epoch = (value) => BigInt(value.text) * 1_000_000n;

// Two members of JSON that are the same text, or the same number token.
function isSame(one, other) {
  return one instanceof Numeral ? other instanceof Numeral && one.text === other.text : one === other;
}
