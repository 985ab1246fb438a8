// Verifies the registry's own signature of an exported card: a detached JWS, EdDSA, over the whole card without its
// signatures, in the house canonical form. The algorithm is fixed here; the card has no say in it.

import { canonical, Numeral, read, Unreadable } from "./canonical.js";
import { base64url, bytesOf, isSigned, NoCryptography, NotAKey, NotBase64url, publicKeyOf } from "./ed25519.js";

export const PROFILE = "sorted-ascii-json/1";
const SIGNATURE_BYTES = 64;
const SIGNATURES_MAX = 16;
const SKEW_MILLISECONDS = 60_000;
// The year 9999, in epoch seconds.
const SIGNED_AT_MAX = 253_402_300_799;

export class NotVerified extends Error {}

// What was signed, by whom and when. Throws NotVerified with the reason as a sentence.
export async function verified(cardText, keysText) {
  const card = readObject(cardText, "The signed card");
  const { header, signature, protectedPart } = registrySignature(card);
  const key = publicKey(readObject(keysText, "The list of keys"), header.get("kid"));
  const signedAt = timeOf(header);
  const signed = new Map([...card].filter(([name]) => name !== "signatures"));
  const payload = new TextEncoder().encode(attempt(() => canonical(signed), "The signed card"));
  const message = new TextEncoder().encode(`${protectedPart}.${base64url(payload)}`);
  if (!(await isBy(key, signature, message))) {
    throw new NotVerified("The signature does not match this card: the card or the signature was changed.");
  }
  return { card: signed, keyId: header.get("kid"), signedAt };
}

function registrySignature(card) {
  const listed = card.get("signatures");
  if (!Array.isArray(listed) || listed.length === 0) throw new NotVerified("The card has no signature.");
  if (listed.length > SIGNATURES_MAX) throw new NotVerified("The card has too many signatures.");
  const ours = listed.map(readSignature).filter(({ header }) => header.get("canon") === PROFILE);
  if (ours.length !== 1) throw new NotVerified(`The card has ${ours.length} signatures with the profile ${PROFILE}, expected one.`);
  if (ours[0].header.get("typ") !== "JOSE") throw new NotVerified("The type of the signature is not JOSE.");
  return ours[0];
}

function readSignature(entry) {
  const [protectedPart, signaturePart] = entry instanceof Map ? [entry.get("protected"), entry.get("signature")] : [];
  if (typeof protectedPart !== "string" || typeof signaturePart !== "string") {
    throw new NotVerified("A signature of the card has an invalid format.");
  }
  const header = readObject(utf8(bytes(protectedPart)), "The header of a signature");
  if (header.get("alg") !== "EdDSA") throw new NotVerified("The algorithm of a signature is not EdDSA.");
  if (header.has("crit") || header.has("b64")) throw new NotVerified("A signature requires unsupported extensions.");
  const signature = bytes(signaturePart);
  if (signature.length !== SIGNATURE_BYTES) throw new NotVerified("A signature has the wrong length.");
  return { header, signature, protectedPart };
}

function timeOf(header) {
  const issued = header.get("iat");
  const seconds = issued instanceof Numeral && issued.isWhole ? Number(issued.text) : -1;
  if (seconds < 0 || seconds > SIGNED_AT_MAX) throw new NotVerified("The signature has no valid time (iat).");
  if (seconds * 1000 > Date.now() + SKEW_MILLISECONDS) {
    throw new NotVerified("The time of the signature is in the future. Check the clock of this device.");
  }
  return new Date(seconds * 1000);
}

function publicKey(keys, keyId) {
  const listed = keys.get("keys");
  const key = (Array.isArray(listed) ? listed : []).find((one) => one instanceof Map && one.get("kid") === keyId);
  if (typeof keyId !== "string" || !key) {
    throw new NotVerified("The registry does not publish the key that the signature refers to.");
  }
  try {
    return publicKeyOf(key);
  } catch (trouble) {
    if (trouble instanceof NotAKey) throw new NotVerified(`The published key is not usable: ${trouble.message}.`);
    throw trouble;
  }
}

async function isBy(point, signature, message) {
  try {
    return await isSigned(point, signature, message);
  } catch (trouble) {
    if (trouble instanceof NoCryptography) throw new NotVerified(trouble.message);
    throw trouble;
  }
}

function readObject(text, what) {
  const value = attempt(() => read(text), what);
  if (!(value instanceof Map)) throw new NotVerified(`${what} is not a JSON object.`);
  return value;
}

function attempt(act, what) {
  try {
    return act();
  } catch (trouble) {
    if (trouble instanceof Unreadable) throw new NotVerified(`${what} cannot be read: ${trouble.message}.`);
    throw trouble;
  }
}

function utf8(octets) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(octets);
  } catch {
    throw new NotVerified("The header of a signature is not UTF-8.");
  }
}

function bytes(text) {
  try {
    return bytesOf(text);
  } catch (trouble) {
    if (trouble instanceof NotBase64url) throw new NotVerified(`A part of the signature is ${trouble.message}.`);
    throw trouble;
  }
}
