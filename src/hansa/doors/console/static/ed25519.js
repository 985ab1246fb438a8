// Keys and signatures (RFC 8032): one spelling of base64url, and no point that WebCrypto would take although it proves nothing.
// A key of small order accepts signatures that its holder never made, and a point has one encoding.

const PRIME = 2n ** 255n - 19n;
const KEY_BYTES = 32;

export class NotAKey extends Error {}
export class NotBase64url extends Error {}
export class NoCryptography extends Error {}

const CURVE_D = modulo(-121665n * inverse(121666n));

export function base64url(octets) {
  let binary = "";
  for (const octet of octets) binary += String.fromCharCode(octet);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

// Strict: one spelling only, so that no part of a signature can be changed without breaking it.
export function bytesOf(text) {
  if (typeof text !== "string") throw new NotBase64url("not a base64url text");
  let octets;
  try {
    octets = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  } catch {
    throw new NotBase64url("not base64url");
  }
  if (base64url(octets) !== text) throw new NotBase64url("not in canonical base64url without padding");
  return octets;
}

// The 32 bytes of a public JWK, a Map. Throws NotAKey.
export function publicKeyOf(jwk) {
  if (jwk.get("kty") !== "OKP" || jwk.get("crv") !== "Ed25519" || jwk.has("d")) {
    throw new NotAKey("an Ed25519 key is public and has kty OKP and crv Ed25519");
  }
  let point;
  try {
    point = bytesOf(jwk.get("x"));
  } catch (trouble) {
    throw new NotAKey(`x: ${trouble.message}`);
  }
  requireUsable(point);
  return point;
}

// Throws NotAKey when the point is not on the curve, not canonically encoded, or of small order.
export function requireUsable(point) {
  if (point.length !== KEY_BYTES) throw new NotAKey(`a key has ${point.length} bytes, not ${KEY_BYTES}`);
  let encoded = 0n;
  for (const octet of [...point].reverse()) encoded = encoded * 256n + BigInt(octet);
  const y = encoded & ((1n << 255n) - 1n);
  const sign = encoded >> 255n;
  if (y >= PRIME) throw new NotAKey("the point is not canonically encoded");
  let x = rootOf(modulo((y * y - 1n) * inverse(modulo(CURVE_D * y * y + 1n))));
  if (x === 0n && sign) throw new NotAKey("the point is not canonically encoded");
  if ((x & 1n) !== sign) x = PRIME - x;
  let found = [x, y];
  for (let times = 0; times < 3; times += 1) found = doubled(found);
  if (found[0] === 0n && found[1] === 1n) throw new NotAKey("the point is of small order");
}

// Whether the holder of the key signed these bytes. Throws NoCryptography where the browser has no Ed25519.
export async function isSigned(point, signature, message) {
  if (!globalThis.crypto?.subtle) {
    throw new NoCryptography("Browsers verify signatures only on pages loaded over HTTPS or from localhost.");
  }
  let key;
  try {
    key = await crypto.subtle.importKey("raw", point, { name: "Ed25519" }, false, ["verify"]);
  } catch {
    throw new NoCryptography("This browser does not support Ed25519 signatures.");
  }
  return crypto.subtle.verify({ name: "Ed25519" }, key, signature, message);
}

function modulo(number) {
  const rest = number % PRIME;
  return rest < 0n ? rest + PRIME : rest;
}

function power(base, exponent) {
  let [found, factor] = [1n, modulo(base)];
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) found = (found * factor) % PRIME;
    factor = (factor * factor) % PRIME;
  }
  return found;
}

function inverse(number) {
  return power(number, PRIME - 2n);
}

function rootOf(square) {
  let root = power(square, (PRIME + 3n) / 8n);
  if (modulo(root * root) !== square) root = modulo(root * power(2n, (PRIME - 1n) / 4n));
  if (modulo(root * root) !== square) throw new NotAKey("the point is not on the curve");
  return root;
}

function doubled([x, y]) {
  const product = modulo(CURVE_D * modulo(x * x) * modulo(y * y));
  return [
    modulo(2n * x * y * inverse(modulo(1n + product))),
    modulo((y * y + x * x) * inverse(modulo(1n - product))),
  ];
}
