// Decimals of any length, exact: amounts are compared as they are written, never as doubles.

import { Numeral, read, Unreadable } from "./canonical.js";

const DIGITS_MAX = 60;
const WHOLE_MAX = 10n ** 60n;

const TOKEN = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

// A JSON text whose fractions are bounded, so that sums of them are exact too. Throws Unreadable.
export function readExactly(text) {
  const value = read(text);
  requireBounded(value);
  return value;
}

// The decimal of a number token, or null.
export function decimalOf(value) {
  if (!(value instanceof Numeral)) return null;
  const [, sign, whole, fraction = "", power = "0"] = TOKEN.exec(value.text);
  const digits = BigInt(whole + fraction) * (sign ? -1n : 1n);
  if (value.isWhole && (digits >= WHOLE_MAX || digits <= -WHOLE_MAX)) return null;
  return { digits, power: Number(power) - fraction.length };
}

// The decimal of a text such as "12.5". Throws Unreadable.
export function decimal(text) {
  const found = /^(-?[0-9]+)(?:\.([0-9]+))?$/.exec(text);
  if (!found) throw new Unreadable(`${text} is no amount`);
  return { digits: BigInt(found[1] + (found[2] ?? "")), power: -(found[2] ?? "").length };
}

export function plus(one, other) {
  const power = Math.min(one.power, other.power);
  return { digits: scaled(one, power) + scaled(other, power), power };
}

export const negative = ({ digits, power }) => ({ digits: -digits, power });

export const minus = (one, other) => plus(one, negative(other));

export const absolute = ({ digits, power }) => ({ digits: digits < 0n ? -digits : digits, power });

// Below zero, zero or above zero, as the first is less than, equal to or greater than the second.
export function compared(one, other) {
  const { digits } = minus(one, other);
  return digits === 0n ? 0 : digits < 0n ? -1 : 1;
}

function scaled({ digits, power }, to) {
  return digits * 10n ** BigInt(power - to);
}

function requireBounded(value) {
  if (Array.isArray(value)) value.forEach(requireBounded);
  else if (value instanceof Map) [...value.values()].forEach(requireBounded);
  else if (value instanceof Numeral && value.isWhole && value.text.length > 1000) throw new Unreadable("a number of more than 1000 digits");
  else if (value instanceof Numeral && !value.isWhole) requireShort(value.text);
}

function requireShort(text) {
  const [, , whole, fraction = "", power = "0"] = TOKEN.exec(text);
  const digits = (whole + fraction).replace(/^0+(?=.)/, "");
  const adjusted = BigInt(power) - BigInt(fraction.length) + BigInt(digits.length) - 1n;
  if (text.length > DIGITS_MAX || adjusted > BigInt(DIGITS_MAX) || adjusted < -BigInt(DIGITS_MAX)) {
    throw new Unreadable("a number that is out of range");
  }
}
