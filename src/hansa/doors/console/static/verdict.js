// What the judges of documents share: steps, strict reading, hashes, times. Nothing here believes anything.

import { canonical, Numeral, read, Unreadable } from "./canonical.js";

// A step that does not hold ends a judgement with its code.
export class Fails extends Error {
  constructor(code, step, said) {
    super(said);
    this.code = code;
    this.step = step;
  }
}

export const step = (name, holds, said) => ({ name, holds, said });

// The code of the first step that does not hold, or `verified`.
export function verdictOf(steps, more = {}) {
  return { code: steps.find(({ holds }) => !holds)?.name ?? "verified", steps, ...more };
}

// A document as the Python verifier reads it: a number that a double does not hold as it is written is refused.
export function readStrictly(text) {
  const value = read(text);
  canonical(value);
  return value;
}

export function textOf(octets) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(octets);
  } catch {
    throw new Unreadable("not UTF-8");
  }
}

export const octetsOf = (text) => new TextEncoder().encode(text);

export const isWhole = (value) => value instanceof Numeral && value.isWhole;

export const isSame = (one, other) => (isWhole(one) && isWhole(other) ? one.text === other.text : one === other);

export async function sha256(...parts) {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let place = 0;
  for (const part of parts) {
    whole.set(part, place);
    place += part.length;
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", whole));
}

export const hex = (octets) => [...octets].map((octet) => octet.toString(16).padStart(2, "0")).join("");

export const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

const CLOCK = "([01]\\d|2[0-3]):[0-5]\\d";
const MOMENT = new RegExp(`^(\\d{4}-\\d{2}-\\d{2})[T ](${CLOCK}:[0-5]\\d)(?:\\.(\\d{1,9}))?(Z|[+-]${CLOCK})$`);

// A time with its offset from UTC in microseconds since 1970, or null. A double would lose the last digits.
export function momentOf(text) {
  const found = typeof text === "string" ? MOMENT.exec(text) : null;
  if (!found) return null;
  const [, date, clock, , fraction = "", offset] = found;
  const day = Date.parse(`${date}T00:00:00Z`);
  // Some engines read 31 February as a day of March.
  if (Number.isNaN(day) || date.startsWith("0000") || new Date(day).toISOString().slice(0, 10) !== date) return null;
  return BigInt(Date.parse(`${date}T${clock}${offset}`)) * 1000n + BigInt(fraction.padEnd(6, "0").slice(0, 6));
}

export const now = () => BigInt(Date.now()) * 1000n;

export const shownMoment = (microseconds) => new Date(Number(microseconds / 1000n)).toISOString();
