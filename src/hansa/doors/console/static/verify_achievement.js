// Whether a registry stated that an agent earned an achievement. The steps and codes are those of `hansa_verify.verify_achievement`.

import { SKEW, verifyCard } from "./verify_card.js";
import { isWhole, momentOf, now, step } from "./verdict.js";

export const ACHIEVEMENT_TYPE = "agent-achievement+jws";
const KIND = "agent.achievement.v1";
const isText = (value) => typeof value === "string";
const MEMBERS = {
  kind: isText,
  registry: isText,
  did: isText,
  code: isText,
  earned_at: isText,
  event_seq: isWhole,
  dashed: (value) => typeof value === "boolean",
};

export async function verifyAchievement(text, keys, { at = now() } = {}) {
  const { signed, signedAt, ...verdict } = await verifyCard(text, keys, { typ: ACHIEVEMENT_TYPE, at });
  if (verdict.code !== "verified") return verdict;
  const refused = (code, name, said) => ({ code, steps: [...verdict.steps, step(name, false, said)] });
  const names = Object.keys(MEMBERS);
  const isForm = signed.size === names.length && names.every((name) => MEMBERS[name](signed.get(name)));
  if (!isForm || signed.get("kind") !== KIND || BigInt(signed.get("event_seq").text) < 1n) {
    return refused("malformed", "kind", `a statement has the kind ${KIND} and its seven members`);
  }
  verdict.steps.push(step("kind", true, `${signed.get("did")} earned ${signed.get("code")}`));
  const earnedAt = momentOf(signed.get("earned_at"));
  if (earnedAt === null) return refused("malformed", "earned", "earned_at is a time with an offset");
  if (earnedAt > signedAt + SKEW) {
    return refused("from_the_future", "earned", `earned at ${signed.get("earned_at")}, after the signature`);
  }
  verdict.steps.push(step("earned", true, `earned at ${signed.get("earned_at")}`));
  return verdict;
}
