// Balance proof, or the public level of the liabilities, as of a time of the past: the verdict of
// `hansa_verify.verify_liabilities_as_of`, by the attestations from that of the proof to the first one after the time.

import { read, Unreadable } from "./canonical.js";
import { falls, signedPayload } from "./verify_attestations.js";
import { verifyLiabilities } from "./verify_balance_proof.js";
import { readLiabilities } from "./verify_liabilities.js";
import { BadCheckpoint, isLeafOf, isProofOfLeaf, readCheckpoint } from "./verify_log.js";
import { Fails, hex, isWhole, momentOf, shownMoment, step } from "./verdict.js";

// `records` are in either order; `logProof` is an answer of /log/proof about the attestation, `checkpoint` the kept note of its size.
export async function verifyLiabilitiesAsOf(document, keys, { at, records, balance = null, logProof = null, checkpoint = null }) {
  const present = await verifyLiabilities(document, keys, { balance });
  if (present.code !== "verified") return present;
  const judge = new Judge(document.get("attestation"), keys, at, falls(records) ? [...records].reverse() : records);
  const said = await signedPayload(judge.record, keys);
  Object.assign(judge, { committed: readLiabilities(said), signedAt: momentOf(said.get("ts")), number: idOf(judge.record) });
  const steps = [...present.steps];
  const acts = {
    key: () => judge.key(),
    published: () => judge.published(),
    log: () => judge.log(logProof, checkpoint),
    newest: () => judge.newest(),
  };
  for (const [name, act] of Object.entries(acts)) {
    try {
      steps.push(step(name, true, await act()));
    } catch (trouble) {
      if (!(trouble instanceof Fails)) throw trouble;
      return { code: trouble.code, steps: [...steps, step(name, false, trouble.message)] };
    }
  }
  return { code: "verified", steps };
}

class Judge {
  constructor(record, keys, at, records) {
    Object.assign(this, { record, keys, at, records });
  }

  // A key signs the records after the retirement of the key before it.
  key() {
    const kid = this.record.get("kid");
    const own = this.keys.get(kid).retiredAtId;
    const earlier = [...this.keys.values()].map(({ retiredAtId }) => retiredAtId).filter((id) => id !== null && (own === null || id < own));
    const begin = earlier.reduce((one, other) => (one > other ? one : other), 0n);
    if (this.number <= begin) throw fails("key_not_yet_valid", `the key ${kid} signs the records after ${begin}, not ${this.number}`);
    return `${kid} signs the records after ${begin}`;
  }

  published() {
    if (this.signedAt > this.at) throw fails("not_yet_published", `attested at ${shownMoment(this.signedAt)}, after ${shownMoment(this.at)}`);
    return `attested at ${shownMoment(this.signedAt)}`;
  }

  async log(proof, note) {
    if (proof === null) {
      if (note !== null) throw fails("unverified", "a checkpoint needs the proof of the log that leads to it");
      return "no proof of the log was given";
    }
    const [signed, kept] = await refusedAs("log", async () => [
      await this.including(proof),
      note === null ? null : await readCheckpoint(note, [...this.keys.values()]),
    ]);
    if (kept && kept.size !== signed.size) throw fails("unverified", `the kept checkpoint has ${kept.size} leaves, the proof ${signed.size}`);
    if (kept && (kept.origin !== signed.origin || hex(kept.root) !== hex(signed.root))) {
      throw fails("rewritten", `the log of ${signed.size} leaves has another root than was kept`);
    }
    return `leaf ${proof.get("index").text} of ${signed.size}`;
  }

  // The checkpoint that has the attestation as a leaf.
  async including(proof) {
    if (!isProofOfLeaf(proof)) throw fails("log", "a proof has the members checkpoint, entry, index, size and hashes");
    const signed = await readCheckpoint(proof.get("checkpoint"), [...this.keys.values()]);
    const entry = read(proof.get("entry"));
    const stated = { kind: "attestation", id: String(this.number), sha256: this.record.get("digest") };
    if (!(entry instanceof Map) || Object.entries(stated).some(([name, one]) => entry.get(name) !== one)) {
      throw fails("log", "the leaf is not the attestation of the proof");
    }
    if (!(await isLeafOf(proof, signed))) throw fails("rewritten", `the log of ${signed.size} leaves does not have the attestation`);
    const loggedAt = momentOf(entry.get("at"));
    if (loggedAt === null || loggedAt > this.at) throw fails("not_yet_published", `the log has the attestation since ${entry.get("at")}`);
    return signed;
  }

  newest() {
    return refusedAs("attestations", () => this.firstAfter());
  }

  async firstAfter() {
    let [before, last] = [null, null];
    for (const record of this.records) {
      if (!(record instanceof Map) || !isWhole(record.get("id"))) throw fails("attestations", "an attestation is an object with an id");
      if (idOf(record) < this.number) continue;
      const said = await signedPayload(record, this.keys);
      const ts = momentOf(said.get("ts"));
      if (before === null) this.requireOwn(record);
      else {
        requireNext(before, record, ts > last);
        if (ts > this.at) return `record ${idOf(before)} is followed by record ${idOf(record)} of ${shownMoment(ts)}`;
        if (!this.isSameTree(readLiabilities(said))) {
          throw fails("superseded", `record ${idOf(record)} of ${shownMoment(ts)} commits to another tree`);
        }
      }
      [before, last] = [record, ts];
    }
    if (before === null) throw fails("unverified", `the attestations do not have record ${this.number}`);
    throw fails("unverified", `an attestation from after ${shownMoment(this.at)} is required`);
  }

  requireOwn(first) {
    if (first.get("digest") === this.record.get("digest")) return;
    if (idOf(first) === this.number) throw fails("rewritten", `the attestations have another record ${this.number} than the proof`);
    throw fails("unverified", `the attestations begin after record ${this.number}`);
  }

  isSameTree(other) {
    const { root, total, accounts } = this.committed;
    return other === null || (hex(other.root) === hex(root) && other.total === total && other.accounts === accounts);
  }
}

function requireNext(before, record, isLater) {
  const [earlier, later] = [idOf(before), idOf(record)];
  if (later <= earlier || !isLater) throw fails("attestations", `id or time of record ${later} does not rise`);
  if (record.get("prev_hash") === before.get("digest")) return;
  if (later === earlier + 1n) throw fails("rewritten", `record ${later} does not continue record ${earlier}`);
  throw fails("unverified", `the attestations lack records after ${earlier}`);
}

// Checks of a record and of a checkpoint have codes of their own, C1 to C5; here they are those of the step.
async function refusedAs(code, act) {
  try {
    return await act();
  } catch (trouble) {
    if (trouble instanceof Fails && !/^(C\d|attestation)$/.test(trouble.code)) throw trouble;
    if ([Fails, BadCheckpoint, Unreadable].some((kind) => trouble instanceof kind)) throw fails(code, trouble.message);
    throw trouble;
  }
}

const fails = (code, said) => new Fails(code, code, said);

const idOf = (record) => BigInt(record.get("id").text);
