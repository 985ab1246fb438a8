// Reduction of a slash by attestations that a dispute cites: the rules of `hansa_verify.reduce_slash`. A bundle is as `read` gives it.

import { compared, decimal } from "./exact.js";
import { isSame, momentOf } from "./verdict.js";

const SHARE_MAX = decimal("0.5");
const UNIT_POWER = -8;

// {isStated, said}: whether the bundle states the reduction that follows from its facts. Throws TypeError for one of another form.
export function reduction(bundle) {
  const stated = bundle.get("slash");
  const counted = countedOf(bundle, stated);
  const each = decimal(stated.get("share_each"));
  const sum = { digits: each.digits * BigInt(counted.length), power: each.power };
  const share = compared(sum, SHARE_MAX) > 0 ? SHARE_MAX : sum;
  const ids = stated.get("attestation_ids");
  const isStated =
    compared(share, decimal(stated.get("share"))) === 0 &&
    ids.length === counted.length &&
    ids.every((id, place) => isSame(id, counted[place])) &&
    statesUnits(stated, share);
  return { isStated, said: `${counted.length} attestations take ${stated.get("share")} of it` };
}

function statesUnits(stated, share) {
  const [requested, cut] = [stated.get("requested"), stated.get("reduction")];
  if (requested === null || cut === null) return requested === cut;
  return compared(decimal(cut), product(decimal(requested), share)) === 0;
}

// Units of a share, half to even.
function product(amount, share) {
  const [digits, power] = [amount.digits * share.digits, amount.power + share.power];
  if (power >= UNIT_POWER) return { digits, power };
  const divisor = 10n ** BigInt(UNIT_POWER - power);
  const [whole, twice] = [digits / divisor, (digits % divisor) * 2n];
  const isUp = twice > divisor || (twice === divisor && whole % 2n === 1n);
  return { digits: isUp ? whole + 1n : whole, power: UNIT_POWER };
}

// The ids that count, in the order in which they were cited; of one circuit the first.
function countedOf(bundle, stated) {
  const [subject, asOf] = [subjectOf(bundle), momentOf(stated.get("as_of"))];
  if (subject === null || compared(decimal(stated.get("share_each")), decimal("0")) === 0) return [];
  const counted = new Map();
  for (const one of bundle.get("attestations")) {
    const isOfDispute = isSame(one.get("agent_did"), bundle.get("dispute").get("defendant_did")) && one.get("context") === subject;
    if (isOfDispute && isValid(one, asOf) && !counted.has(one.get("circuit_id"))) counted.set(one.get("circuit_id"), one.get("attestation_id"));
  }
  return [...counted.values()];
}

function subjectOf(bundle) {
  if (bundle.get("contract") !== null) return `contract:${bundle.get("contract").get("id").text}`;
  return bundle.get("token") === null ? null : `token:${bundle.get("token").get("token_id")}`;
}

function isValid(attestation, asOf) {
  const [since, until] = ["verified_at", "expires_at"].map((name) => momentOf(attestation.get(name)));
  const revoked = attestation.get("revoked_at");
  return since <= asOf && asOf < until && (revoked === null || momentOf(revoked) > asOf);
}
