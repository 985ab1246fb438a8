// Whether a registry signed a document: an agent card, a receipt, the bundle of a dispute. The steps and codes are those of
// `hansa_verify.verify_document`; keys come from the reader, never from the document.

import { canonical, Unreadable } from "./canonical.js";
import { base64url, bytesOf, isSigned, NotAKey, NotBase64url, publicKeyOf } from "./ed25519.js";
import { Fails, isWhole, momentOf, now, octetsOf, readStrictly, shownMoment, step, textOf } from "./verdict.js";

export const PROFILE = "sorted-ascii-json/1";
export const DOCUMENT_MAX_BYTES = 2 * 1024 * 1024;
const PROTECTED_MAX_CHARACTERS = 8192;
const KID_MAX_CHARACTERS = 1024;
const SIGNATURE_BYTES = 64;
const SIGNATURES_MAX = 16;
const KEYS_MAX = 10_000;
const COMPACT_MAX_CHARACTERS = 4096;
export const SKEW = 60_000_000n;
const GRACE = 7n * 24n * 3_600_000_000n;
// The year 9999, in epoch seconds.
const SIGNED_AT_MAX = 253_402_300_799;

// The keys of a key set, or of a history of keys. Throws NotAKey or Unreadable.
export function readKeys(text) {
  const document = readStrictly(text);
  const listed = document instanceof Map ? document.get("keys") : undefined;
  if (!Array.isArray(listed) || listed.length > KEYS_MAX) {
    throw new NotAKey("a key set is an object whose member keys is a list of bounded length");
  }
  const keys = listed.map(readKey);
  if (new Set(keys.map(({ kid }) => kid)).size !== keys.length) throw new NotAKey("two keys of the set have the same kid");
  return keys;
}

export async function verifyCard(text, keys, { typ = "JOSE", at = now() } = {}) {
  const steps = [];
  let signedAt;
  let statement;
  const holds = (name, said) => steps.push(step(name, true, said));
  try {
    const { signed, entries } = readSigned(text);
    statement = signed;
    holds("form", "strict JSON with signatures");
    const entry = entryOfTheRegistry(entries, typ);
    holds("profile", `one signature by the profile ${PROFILE}`);
    const key = signerOf(entry, keys);
    holds("key", `signed with ${key.kid}`);
    signedAt = judgedTime(entry.header.get("iat"), key, at);
    holds("time", `signed at ${shownMoment(signedAt)}`);
    const message = octetsOf(`${entry.protectedPart}.${base64url(octetsOf(canonical(signed)))}`);
    if (!(await isSigned(key.point, entry.signature, message))) {
      throw new Fails("bad_signature", "signature", "the document is not what was signed");
    }
    holds("signature", "the whole document is as it was signed");
  } catch (trouble) {
    if (!(trouble instanceof Fails)) throw trouble;
    return { code: trouble.code, steps: [...steps, step(trouble.step, false, trouble.message)] };
  }
  return { code: "verified", steps, signed: statement, signedAt };
}

function readSigned(text) {
  if (octetsOf(text).length > DOCUMENT_MAX_BYTES) {
    throw new Fails("malformed", "form", `a document has at most ${DOCUMENT_MAX_BYTES} bytes`);
  }
  let document;
  try {
    document = readStrictly(text);
  } catch (trouble) {
    if (trouble instanceof Unreadable) throw new Fails("malformed", "form", trouble.message);
    throw trouble;
  }
  if (!(document instanceof Map)) throw new Fails("malformed", "form", "a signed document is an object");
  const entries = document.get("signatures");
  if (!Array.isArray(entries) || entries.length < 1 || entries.length > SIGNATURES_MAX) {
    throw new Fails("unsigned", "form", `a signed document has 1 to ${SIGNATURES_MAX} signatures`);
  }
  return { signed: new Map([...document].filter(([name]) => name !== "signatures")), entries };
}

function entryOfTheRegistry(entries, typ) {
  const ours = entries.map(readEntry).filter(({ header }) => header.get("canon") === PROFILE);
  if (ours.length !== 1) {
    throw new Fails("profile_missing", "profile", `${ours.length} signatures by the profile ${PROFILE}, not one`);
  }
  if (ours[0].header.get("typ") !== typ) throw new Fails("malformed", "profile", `the type of the signature is not ${typ}`);
  return ours[0];
}

export function readEntry(entry) {
  const refuse = (said) => new Fails("malformed", "profile", said);
  const protectedPart = entry instanceof Map ? entry.get("protected") : undefined;
  if (typeof protectedPart !== "string" || [...protectedPart].length > PROTECTED_MAX_CHARACTERS) {
    throw refuse("a signature is an object with protected, a text of bounded length, and signature");
  }
  let header;
  let signature;
  try {
    header = readStrictly(textOf(bytesOf(protectedPart)));
    signature = bytesOf(entry.get("signature"));
  } catch (trouble) {
    if (trouble instanceof NotBase64url || trouble instanceof Unreadable) throw refuse(trouble.message);
    throw trouble;
  }
  if (!(header instanceof Map)) throw refuse("the protected header is an object");
  if (header.get("alg") !== "EdDSA") throw new Fails("unknown_alg", "profile", "the algorithm is EdDSA and nothing else");
  if (header.has("crit") || header.has("b64")) throw refuse("the header requires unsupported extensions");
  for (const name of ["kid", "canon", "typ"]) {
    if (header.has(name) && typeof header.get(name) !== "string") throw refuse(`${name} is of another type`);
  }
  if (header.has("iat") && !isWhole(header.get("iat"))) throw refuse("iat is of another type");
  if ([...(header.get("kid") ?? "")].length > KID_MAX_CHARACTERS) throw refuse("kid is too long");
  if (signature.length !== SIGNATURE_BYTES) throw refuse(`an Ed25519 signature has ${SIGNATURE_BYTES} bytes`);
  return { header, signature, protectedPart };
}

// The compact JWS {header, payload, signature, message} of a text, if it is one of this type with an object as its payload, or null.
export function readCompact(text, typ, most = COMPACT_MAX_CHARACTERS) {
  const parts = typeof text === "string" && [...text].length <= most ? text.split(".") : [];
  if (parts.length !== 3) return null;
  try {
    const { header, signature } = readEntry(new Map([["protected", parts[0]], ["signature", parts[2]]]));
    const payload = readStrictly(textOf(bytesOf(parts[1])));
    if (header.get("typ") !== typ || !(payload instanceof Map)) return null;
    return { header, payload, signature, message: octetsOf(`${parts[0]}.${parts[1]}`) };
  } catch (trouble) {
    if ([Fails, NotBase64url, Unreadable].some((kind) => trouble instanceof kind)) return null;
    throw trouble;
  }
}

// The key that a signature names. Throws Fails.
export function signerOf({ header }, keys) {
  const key = keys.find(({ kid }) => kid === header.get("kid"));
  if (!key) throw new Fails("unknown_key", "key", "the registry has no key of that kid");
  return key;
}

// The time that a signature states in epoch seconds, if its key counts then and as of `at`. Throws Fails.
export function judgedTime(stated, key, at) {
  const seconds = stated === undefined ? -1 : Number(stated.text);
  if (seconds < 0 || seconds > SIGNED_AT_MAX) {
    throw new Fails("malformed", "time", "the signature does not say when it was made");
  }
  const signedAt = BigInt(seconds) * 1_000_000n;
  if (signedAt > at + SKEW) {
    throw new Fails("from_the_future", "time", `signed at ${shownMoment(signedAt)}, judged as of ${shownMoment(at)}`);
  }
  requireInForce(key, signedAt);
  requireInGrace(key, at);
  return signedAt;
}

// Throws Fails when the key was not valid at the time of the signature.
export function requireInForce(key, signedAt) {
  if (key.validFrom !== null && signedAt < key.validFrom - SKEW) {
    throw new Fails("key_not_yet_valid", "time", `the key is valid from ${shownMoment(key.validFrom)} on`);
  }
  if (key.retiredAt !== null && signedAt > key.retiredAt + SKEW) throw retired(key);
}

// Throws Fails when the key was retired more than seven days before.
export function requireInGrace(key, at) {
  if (key.retiredAt !== null && at > key.retiredAt + GRACE) throw retired(key);
}

const retired = (key) => new Fails("key_retired", "time", `the key was retired at ${shownMoment(key.retiredAt)}`);

function readKey(jwk) {
  if (!(jwk instanceof Map) || typeof jwk.get("kid") !== "string") throw new NotAKey("a key of a set is an object with a kid");
  if ((jwk.has("use") && jwk.get("use") !== "sig") || (jwk.has("alg") && jwk.get("alg") !== "EdDSA")) {
    throw new NotAKey("a key of a registry is for signing with EdDSA");
  }
  return {
    kid: jwk.get("kid"),
    point: publicKeyOf(jwk),
    validFrom: readMoment(jwk, "valid_from"),
    retiredAt: readMoment(jwk, "retired_at"),
  };
}

function readMoment(jwk, name) {
  const text = jwk.get(name) ?? null;
  if (text === null) return null;
  const moment = momentOf(text);
  if (moment === null) throw new NotAKey(`${name} is not an ISO 8601 time with its offset from UTC`);
  return moment;
}
