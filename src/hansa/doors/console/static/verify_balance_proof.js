// Balance proof, or the public level of the liabilities, with the attestation that it bears: the verdict of
// `hansa_verify.verify_liabilities`.

import { signedPayload } from "./verify_attestations.js";
import { judgeBalance, judgeBlocks, readLiabilities } from "./verify_liabilities.js";
import { Fails, isWhole, step, verdictOf } from "./verdict.js";

export async function verifyLiabilities(document, keys, { balance = null } = {}) {
  if (!(document instanceof Map)) return verdictOf([step("proof", false, "a proof is an object")]);
  let said;
  try {
    said = await signedPayload(document.get("attestation"), keys);
  } catch (trouble) {
    if (!(trouble instanceof Fails)) throw trouble;
    return verdictOf([step("attestation", false, trouble.message)]);
  }
  const committed = readLiabilities(said);
  if (committed === null) return verdictOf([step("attestation", false, "the attestation commits to no liabilities")]);
  const [seq, stated] = [said.get("as_of_event_seq"), document.get("as_of_event_seq")];
  const steps = [
    step("attestation", true, `signed, of ${said.get("ts")}, over ${committed.accounts} accounts`),
    step("moment", isWhole(seq) && isWhole(stated) && BigInt(seq.text) === BigInt(stated.text), `event ${seq?.text}`),
  ];
  const more = document.has("blocks") ? judgeBlocks(document, committed) : judgeBalance(document, committed, balance);
  return verdictOf([...steps, ...(await more)]);
}
