// Whether a chain of supply attestations (SA-1.0) is whole, signed and says what follows from its own numbers: the checks C1 to
// C8 of `hansa_verify.verify_attestations`.

import { Unreadable } from "./canonical.js";
import { bytesOf, isSigned, NotAKey, NotBase64url, publicKeyOf } from "./ed25519.js";
import { absolute, compared, decimalOf, minus, plus, readExactly } from "./exact.js";
import { readLiabilities } from "./verify_liabilities.js";
import { Fails, hex, isWhole, momentOf, now, octetsOf, readStrictly, sha256, shownMoment, step, verdictOf } from "./verdict.js";

export const STANDARD = "SA-1.0";
const CHECKS = {
  C1: "every record is signed under a known key",
  C2: "every digest is that of its payload",
  C3: "every signature is by its key",
  C4: "every record continues the one before",
  C5: "every envelope says what its payload says, provenance records are complete, ids and times rise",
  C6: "net supply, delta and liabilities follow from the terms",
  C7: "every status follows from its delta, native coverage from its gap, every check has a result of its own",
  C8: "positions in the log never fall, the basis changes only with a provenance record",
};
const PROVENANCE = ["baseline_set", "baseline_removed", "transit_rebaselined"];
const RAILS = {
  baseline_set: "admin/set-native-baseline",
  baseline_removed: "admin/set-native-baseline",
  transit_rebaselined: "admin/rebaseline-transit",
};
const TWO = ["OK", "BREACH"];
const RESULTS = new Map([
  ["supply", TWO],
  ["per_user", TWO],
  ["staked_guard", [...TWO, "MISMATCH"]],
  ["escrow", [...TWO, "ERROR"]],
  ["transactions", TWO],
  ["shares", TWO],
  ["solvency", ["SOLVENT", "LOW", "BREACH"]],
]);
const BASES = ["typed_mints_complete", "writedown_rebaselined", "federated_reconciled", "pre_baseline_genesis", "coverage_unknown"];
const WITHOUT_VERDICT = ["pre_baseline_genesis", "coverage_unknown"];
const TERMS = ["issued", "destroyed", "transit_net", "net_supply", "circulating"];
const NO_HASH = "0".repeat(64);
const KEYS_MAX = 10_000;
const PAYLOAD_MAX_CHARACTERS = 16 * 1024;
const SKEW = 60_000_000n;
const WATCHED_WITHIN = 600_000_000n;
const ZERO = { digits: 0n, power: 0 };
const UNIT = { digits: 1n, power: 8 };
const INVARIANT_TOLERANCE = { digits: 1n, power: -3 };
const STATUS_TOLERANCE = { digits: 1n, power: -2 };
const BREACH_ABOVE = { digits: 1n, power: -6 };

// The records and the key set of an export. Throws Unreadable.
export function readExport(text) {
  const document = readStrictly(text);
  if (!(document instanceof Map) || document.get("standard") !== STANDARD) {
    throw new Unreadable(`an export is an object whose standard is ${STANDARD}`);
  }
  if (!Array.isArray(document.get("attestations"))) throw new Unreadable("attestations is a list");
  return { records: document.get("attestations"), keySet: new Map([["keys", document.get("keys") ?? []]]) };
}

// Whether more ids fall than rise, from one record to the next.
export function falls(records) {
  const ids = records.map((record) => (record instanceof Map && isWhole(record.get("id")) ? BigInt(record.get("id").text) : null));
  const pairs = ids.slice(1).map((id, place) => (id === null || ids[place] === null ? 0 : id < ids[place] ? -1 : id > ids[place] ? 1 : 0));
  return pairs.reduce((sum, one) => sum + one, 0) < 0;
}

// The keys of an auditor out of its key set, a Map. Throws NotAKey.
export function auditorKeys(document) {
  const listed = document instanceof Map ? document.get("keys") : undefined;
  if (!Array.isArray(listed) || listed.length > KEYS_MAX) {
    throw new NotAKey("a key set is an object whose member keys is a list of bounded length");
  }
  const keys = new Map();
  for (const jwk of listed) {
    if (!(jwk instanceof Map) || typeof jwk.get("kid") !== "string") throw new NotAKey("a key of a set is an object with a kid");
    if ((jwk.has("use") && jwk.get("use") !== "sig") || (jwk.has("alg") && jwk.get("alg") !== "EdDSA")) {
      throw new NotAKey("a key of an auditor is for signing with EdDSA");
    }
    const [retiredAtId, retiredAtSize] = ["retired_at_id", "retired_at_size"].map((name) => countOf(jwk, name));
    if (keys.has(jwk.get("kid"))) throw new NotAKey("two keys of the set have the same kid");
    keys.set(jwk.get("kid"), { kid: jwk.get("kid"), point: publicKeyOf(jwk), retiredAtId, retiredAtSize });
  }
  return keys;
}

function countOf(jwk, name) {
  const count = jwk.get(name) ?? null;
  if (count !== null && (!isWhole(count) || BigInt(count.text) < 0n)) throw new NotAKey(`${name} must be a whole number of at least 0`);
  return count && BigInt(count.text);
}

// The first record is first, or the newest, as a list of a registry has it.
export async function verifyAttestations(records, keys, { exact = false, maxAge = null, at = now() } = {}) {
  const judge = new Judge(keys, exact);
  for (const record of falls(records) ? [...records].reverse() : records) await judge.judge(record);
  judge.judgeHead(at, maxAge);
  const steps = Object.entries(CHECKS).map(([check, said]) => step(check, !judge.failed.has(check), judge.failed.get(check) ?? said));
  return verdictOf(steps, { warnings: judge.warnings(at), records: records.length });
}

// What one record says, if a key of the auditor signed it; its chain is not looked at. Throws Fails.
export async function signedPayload(record, keys) {
  if (!(record instanceof Map)) throw new Fails("attestation", "attestation", "an attestation is an object");
  const judge = new Judge(keys, true);
  const payload = payloadOf(record);
  await judge.key(record);
  await judge.digest(record, payload);
  await judge.signature(record, payload);
  const said = readPayload(payload);
  judge.envelope(record, said);
  return said;
}

class Judge {
  constructor(keys, exact) {
    Object.assign(this, { keys, exact, failed: new Map(), lastId: null, lastTs: null, lastDigest: NO_HASH });
    Object.assign(this, { frame: null, seq: null, basis: null, hasProvenance: false, breaches: [], gaps: [] });
  }

  async judge(record) {
    if (!(record instanceof Map)) return this.fail(null, new Fails("C5", "C5", "a record is an object"));
    const checks = [() => this.key(record), () => this.link(record)];
    try {
      const payload = payloadOf(record);
      checks.push(
        () => this.digest(record, payload),
        () => this.signature(record, payload),
        () => this.content(record, payload),
      );
    } catch (trouble) {
      this.fail(record, trouble);
    }
    for (const check of checks) {
      try {
        await check();
      } catch (trouble) {
        this.fail(record, trouble);
      }
    }
    this.lastDigest = record.get("digest");
    return undefined;
  }

  fail(record, trouble) {
    if (!(trouble instanceof Fails)) throw trouble;
    const id = record?.get("id")?.text ?? "?";
    if (!this.failed.has(trouble.code)) this.failed.set(trouble.code, `record ${id}: ${trouble.message}`);
  }

  judgeHead(at, maxAge) {
    if (this.lastTs === null) this.fail(null, fails("C5", "the chain has no readable record"));
    else if (this.lastTs > at + SKEW) this.fail(null, fails("C8", "the head is from the future"));
    else if (maxAge !== null && at - this.lastTs > maxAge) this.fail(null, fails("C8", "the head is older than asked for"));
  }

  warnings(at) {
    const found = [];
    if (this.lastTs !== null && at - this.lastTs > WATCHED_WITHIN) found.push(["unwatched", `the newest record is of ${shownMoment(this.lastTs)}`]);
    if (this.breaches.length) found.push(["breach", `${this.breaches.length} records attest a breach, first ${this.breaches[0]}`]);
    if (this.gaps.length) found.push(["gap", `${this.gaps.length} gaps without records, last ${this.gaps.at(-1)}`]);
    return found.map(([code, said]) => ({ code, said }));
  }

  async key(record) {
    const key = this.keys.get(record.get("kid"));
    if (!key) throw fails("C1", "its key is unknown");
    if (key.kid !== hex(await sha256(key.point)).slice(0, 16)) throw fails("C1", "the id of its key is not derived from the key");
    const id = record.get("id");
    if (key.retiredAtId !== null && (!isWhole(id) || BigInt(id.text) > key.retiredAtId)) {
      throw fails("C1", `its key was retired after record ${key.retiredAtId}`);
    }
  }

  async digest(record, payload) {
    if (hex(await sha256(payload)) !== record.get("digest")) throw fails("C2", "the digest is not that of the payload");
  }

  async signature(record, payload) {
    const key = this.keys.get(record.get("kid"));
    if (!key) throw fails("C3", "there is no key to verify its signature");
    let signature;
    try {
      signature = bytesOf(record.get("signature"));
    } catch (trouble) {
      if (trouble instanceof NotBase64url) throw fails("C3", "the signature is not base64url");
      throw trouble;
    }
    if (!(await isSigned(key.point, signature, payload))) throw fails("C3", "the signature is not by its key over the payload");
  }

  link(record) {
    if (record.get("prev_hash") !== this.lastDigest) throw fails("C4", `it does not continue the record with digest ${this.lastDigest}`);
  }

  content(record, payload) {
    const said = readPayload(payload);
    this.envelope(record, said);
    if (PROVENANCE.includes(said.get("kind"))) {
      this.hasProvenance = true;
      requireProvenance(said);
      return;
    }
    for (const check of ["invariant", "liabilities", "status", "native", "results", "progress"]) {
      try {
        this[check](said);
      } catch (trouble) {
        this.fail(record, trouble);
      }
    }
    if (said.get("status") === "BREACH" || said.get("live_status") === "BREACH") this.breaches.push(record.get("id").text);
    const gap = said.get("gap");
    if (gap instanceof Map) this.gaps.push(`${String(gap.get("from"))} to ${String(gap.get("to"))}`.slice(0, 100));
  }

  envelope(record, said) {
    if (said.get("standard") !== STANDARD || !["audit", ...PROVENANCE].includes(said.get("kind"))) {
      throw fails("C5", `the payload is not of a known kind of ${STANDARD}`);
    }
    for (const member of ["frame", "ts", "kind", "prev_hash"]) {
      if (typeof said.get(member) !== "string" || record.get(member) !== said.get(member)) {
        throw fails("C5", `the envelope and the payload differ in ${member}`);
      }
    }
    this.frame ??= said.get("frame");
    if (said.get("frame") !== this.frame) throw fails("C5", "it belongs to another frame than the records before");
    const ts = momentOf(said.get("ts"));
    if (ts === null) throw fails("C5", "its time is not ISO 8601 with an offset from UTC");
    const id = record.get("id");
    if (!isWhole(id) || (this.lastId !== null && BigInt(id.text) <= this.lastId)) throw fails("C5", "its id does not rise");
    if (this.lastTs !== null && ts <= this.lastTs) throw fails("C5", "its time does not rise");
    this.lastId = BigInt(id.text);
    this.lastTs = ts;
  }

  invariant(said) {
    const [terms, delta] = [said.get("terms") ?? null, said.get("delta") ?? null];
    if (terms === null && delta === null) return;
    if (!(terms instanceof Map)) throw fails("C6", "there is a delta without terms");
    const [issued, destroyed, transit, net, circulating] = TERMS.map((name) => numberOf(terms.get(name), "C6"));
    if (!this.isNear(net, plus(minus(issued, destroyed), transit))) {
      throw fails("C6", "net supply is not issued minus destroyed plus transit");
    }
    if (!this.isNear(numberOf(delta, "C6"), minus(net, circulating))) {
      throw fails("C6", "the delta is not net supply minus circulating");
    }
  }

  liabilities(said) {
    if ((said.get("liabilities") ?? null) === null) return;
    const committed = readLiabilities(said);
    const terms = said.get("terms");
    const circulating = numberOf(terms instanceof Map ? terms.get("circulating") : null, "C6");
    const owed = { digits: circulating.digits * UNIT.digits, power: circulating.power + UNIT.power };
    if (committed === null || compared(owed, { digits: committed.total, power: 0 }) !== 0) {
      throw fails("C6", "the total of the liabilities is not what circulates");
    }
  }

  status(said) {
    const [status, delta] = [said.get("status") ?? null, said.get("delta") ?? null];
    if (status === null && delta === null) return;
    const size = absolute(numberOf(delta, "C7"));
    if (!["OK", "BREACH"].includes(status) || !this.follows(size, status === "OK")) {
      throw fails("C7", "the status does not follow from the delta");
    }
  }

  native(said) {
    const native = said.get("native");
    if (!(native instanceof Map) || typeof native.get("basis") !== "string") throw fails("C7", "the native coverage has no basis");
    const [ok, basis] = [native.get("ok") ?? null, native.get("basis")];
    if (!BASES.includes(basis)) throw fails("C7", "the basis is unknown");
    const gap = native.get("gap_rebased") ?? native.get("gap") ?? null;
    if (ok === null) {
      if (!WITHOUT_VERDICT.includes(basis)) throw fails("C7", "the basis has no verdict");
    } else if (typeof ok !== "boolean" || WITHOUT_VERDICT.includes(basis)) {
      throw fails("C7", "the native verdict does not fit its basis");
    } else if (gap === null || !this.follows(absolute(numberOf(gap, "C7")), ok)) {
      throw fails("C7", "native.ok does not follow from the gap");
    }
  }

  results(said) {
    const results = said.get("checks");
    if (!(results instanceof Map)) throw fails("C7", "checks is no object");
    for (const [name, result] of results) {
      if (!(RESULTS.get(name) ?? []).includes(result)) throw fails("C7", `the check ${name} has another result`);
    }
  }

  progress(said) {
    const [seq, native] = [said.get("as_of_event_seq") ?? null, said.get("native")];
    const basis = native instanceof Map ? native.get("basis") : null;
    if (seq !== null) {
      if (!isWhole(seq) || (this.seq !== null && BigInt(seq.text) < this.seq)) throw fails("C8", "the position in the log falls");
      this.seq = BigInt(seq.text);
    }
    if (typeof basis !== "string" || basis === "coverage_unknown") return;
    if (this.basis !== null && this.basis !== basis && !this.hasProvenance) {
      throw fails("C8", "the basis changes without a provenance record");
    }
    this.basis = basis;
    this.hasProvenance = false;
  }

  follows(size, isOk) {
    if (isOk) return compared(size, this.exact ? ZERO : STATUS_TOLERANCE) <= 0;
    return compared(size, this.exact ? ZERO : BREACH_ABOVE) > 0;
  }

  isNear(one, other) {
    return compared(absolute(minus(one, other)), this.exact ? ZERO : INVARIANT_TOLERANCE) <= 0;
  }
}

const fails = (check, said) => new Fails(check, check, said);

function payloadOf(record) {
  const payload = record.get("payload");
  if (typeof payload !== "string" || [...payload].length > PAYLOAD_MAX_CHARACTERS) {
    throw fails("C2", `the payload is not a text of at most ${PAYLOAD_MAX_CHARACTERS} characters`);
  }
  return octetsOf(payload);
}

function readPayload(payload) {
  let said;
  try {
    said = readExactly(new TextDecoder("utf-8", { ignoreBOM: true }).decode(payload));
  } catch (trouble) {
    if (trouble instanceof Unreadable) throw fails("C5", `the payload: ${trouble.message}`);
    throw trouble;
  }
  if (!(said instanceof Map)) throw fails("C5", "the payload is not an object");
  return said;
}

// A baseline is greater than 0, or removed; each act has its reason and its rail.
function requireProvenance(said) {
  const [kind, entry] = [said.get("kind"), said.get("entry")];
  if (said.get("rail") !== RAILS[kind]) throw fails("C5", `the rail of ${kind} is ${RAILS[kind]}`);
  requireReason(said);
  if (kind === "transit_rebaselined") {
    for (const name of ["old_baseline", "old_drift", "new_baseline"]) numberOf(said.get(name), "C5");
  } else if (kind === "baseline_removed") {
    if (entry !== null) throw fails("C5", "the entry of a baseline that was removed is null");
  } else if (!(entry instanceof Map) || compared(numberOf(entry.get("baseline"), "C5"), ZERO) <= 0) {
    throw fails("C5", "the entry has no baseline greater than 0");
  } else {
    requireReason(entry);
    if (momentOf(entry.get("set_at")) === null) throw fails("C5", "the entry has no time at which the baseline was set");
  }
}

function requireReason(stated) {
  const ref = stated.get("ref");
  if (typeof ref !== "string" || !ref.trim()) throw fails("C5", "a provenance record has a reason, ref");
}

function numberOf(value, check) {
  const found = decimalOf(value);
  if (found === null) throw fails(check, "an amount is not a number");
  return found;
}
