// Whether a licence certificate counted at a time of the past, by the lists that its issuers signed before and after it: the verdict of
// `hansa_verify.verify_licence_as_of`. The first list after the time decides where the state that it lists began by then, otherwise the
// newest list until the time.

import { Fails, shownMoment } from "./verdict.js";
import { differingLists, epoch, isOfSubject, LicenceJudge, names, unlisted } from "./verify_licence.js";

export async function verifyLicenceAsOf(certificate, chain, at, { root = null, lists = [], statedHash = null } = {}) {
  return new PastJudge(at, root).verdict(certificate, chain, lists, statedHash);
}

class PastJudge extends LicenceJudge {
  constructor(at, root) {
    super(at, root);
    Object.assign(this, { skew: 0n, unissued: "not_yet_valid" });
  }

  troublesBy(one, signed) {
    const earlier = signed.filter((list) => list.generatedAt <= this.at);
    const later = signed.filter((list) => list.generatedAt > this.at);
    const firstAt = later.map((list) => list.generatedAt).reduce((one, other) => (one === null || other < one ? other : one), null);
    const first = later.filter((list) => list.generatedAt === firstAt);
    const troubles = differingLists(one, first);
    const named = first.flatMap((list) => list.licences).filter((entry) => names(entry, one));
    const changed = named.filter((entry) => began(entry) > this.at);
    if (named.length && !changed.length) {
      this.knownAsOf(this.at);
      return [...troubles, ...this.decided(one, first), ...this.contradicted(one, named, earlier)];
    }
    if (first.length && !named.some((entry) => entry.get("hash") === one.hash)) {
      troubles.push(unlisted(`not_listed: ${one.issuer[0]} does not list ${one.hash}`));
    }
    if (changed.length && !earlier.length) {
      const said = `changed_later: ${one.issuer[0]} lists ${one.hash} as ${changed[0].get("state")} since ${shownMoment(began(changed[0]))}`;
      return [...troubles, unlisted(`${said}; a list from before ${shownMoment(this.at)} is required`)];
    }
    return [...troubles, ...super.troublesBy(one, earlier)];
  }

  // By the states of the time in the first list after it.
  decided(one, first) {
    return first.flatMap((list) => {
      const ofThen = list.licences.filter((entry) => began(entry) <= this.at).map((entry) => this.entryThen(entry, list));
      return this.stated(one, { ...list, licences: ofThen }).map((trouble) =>
        trouble.code === "superseded" && this.mayBeCovered(one, list)
          ? unlisted(`changed_later: a certificate of the subject of ${one.hash} changed after ${shownMoment(this.at)}`)
          : trouble,
      );
    });
  }

  // Another state in a list until the time: revoking is permanent.
  contradicted(one, named, earlier) {
    const states = named.map((entry) => withoutExpiry(entry.get("state")));
    const since = named.map(began).reduce((one, other) => (one > other ? one : other));
    const troubles = [];
    for (const list of earlier) {
      for (const entry of list.licences) {
        const before = withoutExpiry(entry.get("state"));
        if (entry.get("hash") !== one.hash || states.includes(before)) continue;
        if (before === "revoked") troubles.push(new Fails("revoked", "lists", `${one.issuer[0]} listed ${one.hash} as revoked`));
        else if (since < list.generatedAt) {
          const said = `contradiction: ${one.issuer[0]} listed ${one.hash} as ${before} at ${shownMoment(list.generatedAt)}`;
          troubles.push(unlisted(`${said}, and later in another state since ${shownMoment(since)}`));
        }
      }
    }
    return troubles;
  }

  // A certificate that expired between the time and the list was active.
  entryThen(entry, list) {
    if (entry.get("state") !== "expired" || entry.get("exp") === null) return entry;
    const expiredAt = epoch(entry.get("exp"));
    return this.at < expiredAt && expiredAt <= list.generatedAt ? new Map([...entry, ["state", "active"]]) : entry;
  }

  // Whether another certificate of the subject was there at the time, in a state that is not known.
  mayBeCovered(one, list) {
    return list.licences.some((entry) => isOfSubject(entry, one) && epoch(entry.get("iat")) <= this.at && this.at < began(entry));
  }
}

const began = (entry) => epoch(entry.get("updated_at"));

const withoutExpiry = (state) => (state === "expired" ? "active" : state);
