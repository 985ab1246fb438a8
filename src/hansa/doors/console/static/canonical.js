// JSON that means one thing to everybody, and the one text of it that is signed: keys sorted by code point at every level,
// no blanks, everything beyond ASCII escaped, numbers as Python prints them. JSON.parse would lose digits of large numbers
// and forget how 1.0 was written, so a number stays the text it is. Refused is what two readers could take differently: a
// member given twice, a number that a double does not hold as it is written, half of a surrogate pair, nesting without end.

const DEPTH_MAX = 64;
const DIGITS_MAX = 1000;
const FIXED_FROM = -4;
const FIXED_BELOW = 16;

const BLANK = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const WORD = /true|false|null/y;
const WORDS = { true: true, false: false, null: null };

export class Unreadable extends Error {}

export class Numeral {
  constructor(text, isWhole) {
    this.text = text;
    this.isWhole = isWhole;
  }
}

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  take(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found) this.at = pattern.lastIndex;
    return found;
  }

  takeSign(sign) {
    this.take(BLANK);
    if (this.text[this.at] !== sign) return false;
    this.at += 1;
    return true;
  }

  require(sign) {
    if (!this.takeSign(sign)) throw new Unreadable(`no ${sign} at character ${this.at}`);
  }

  string() {
    this.take(BLANK);
    const found = this.take(STRING);
    if (!found) throw new Unreadable(`no string at character ${this.at}`);
    const text = JSON.parse(found[0]);
    if (!text.isWellFormed()) throw new Unreadable("a text holds half of a surrogate pair");
    return text;
  }

  value(depth) {
    this.take(BLANK);
    const isNested = this.text[this.at] === "{" || this.text[this.at] === "[";
    if (isNested && depth > DEPTH_MAX) throw new Unreadable(`nested deeper than ${DEPTH_MAX} levels`);
    if (this.takeSign("{")) return this.object(depth);
    if (this.takeSign("[")) return this.array(depth);
    if (this.text[this.at] === '"') return this.string();
    const number = this.take(NUMBER);
    if (number) return new Numeral(number[0], !number[1] && !number[2]);
    const word = this.take(WORD);
    if (!word) throw new Unreadable(`no value at character ${this.at}`);
    return WORDS[word[0]];
  }

  object(depth) {
    const members = new Map();
    if (this.takeSign("}")) return members;
    do {
      const name = this.string();
      if (members.has(name)) throw new Unreadable(`the member ${JSON.stringify(name)} stands twice`);
      this.require(":");
      members.set(name, this.value(depth + 1));
    } while (this.takeSign(","));
    this.require("}");
    return members;
  }

  array(depth) {
    const items = [];
    if (this.takeSign("]")) return items;
    do items.push(this.value(depth + 1));
    while (this.takeSign(","));
    this.require("]");
    return items;
  }
}

// Objects become Maps, numbers Numerals; everything else is as JSON.parse gives it.
export function read(text) {
  const reader = new Reader(text);
  const value = reader.value(1);
  reader.take(BLANK);
  if (reader.at !== text.length) throw new Unreadable(`something follows the end at character ${reader.at}`);
  return value;
}

// `number` prints a Numeral.
export function canonical(value, number = printed) {
  if (value instanceof Numeral) return number(value);
  if (typeof value === "string") return escaped(value);
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, number)).join(",")}]`;
  if (!(value instanceof Map)) return String(value);
  const names = [...value.keys()].sort(byCodePoint);
  return `{${names.map((name) => `${escaped(name)}:${canonical(value.get(name), number)}`).join(",")}}`;
}

function escaped(text) {
  return JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

// UTF-16 units would put U+1F600 before U+FFFD.
function byCodePoint(one, other) {
  const [left, right] = [[...one], [...other]];
  for (let place = 0; place < Math.min(left.length, right.length); place += 1) {
    const difference = left[place].codePointAt(0) - right[place].codePointAt(0);
    if (difference) return difference;
  }
  return left.length - right.length;
}

function printed({ text, isWhole }) {
  if (text.length > DIGITS_MAX) throw new Unreadable(`a number of more than ${DIGITS_MAX} digits`);
  if (isWhole) return text === "-0" ? "0" : text;
  const number = Number(text);
  if (!Number.isFinite(number)) throw new Unreadable(`the number ${text.slice(0, 40)} is too large`);
  if (!isExact(text, number)) throw new Unreadable(`the number ${text.slice(0, 40)} would be read as another`);
  // Both languages print the fewest digits that read back as the same number, and differ in where they set the point.
  const [, sign, first, rest = "", power] = /^(-?)([0-9])(?:\.([0-9]+))?e([+-][0-9]+)$/.exec(
    (Object.is(number, -0) ? "-" : "") + number.toExponential(),
  );
  return sign + placed(first + rest, Number(power));
}

// The digits that count, and the power of ten behind them, are the same as those of the double.
function isExact(text, number) {
  const [written, held] = [text, number.toExponential()].map((one) => {
    const [, whole, fraction = "", power = "0"] = /^-?([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(one);
    const digits = (whole + fraction).replace(/^0+/, "");
    const counted = digits.replace(/0+$/, "");
    return [counted, counted && BigInt(power) - BigInt(fraction.length) + BigInt(digits.length - counted.length)];
  });
  return written[0] === held[0] && written[1] === held[1];
}

function placed(digits, power) {
  if (power < FIXED_FROM || power >= FIXED_BELOW) {
    const mantissa = digits.length > 1 ? `${digits[0]}.${digits.slice(1)}` : digits;
    return `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  if (power < 0) return `0.${"0".repeat(-power - 1)}${digits}`;
  const whole = digits.slice(0, power + 1).padEnd(power + 1, "0");
  return `${whole}.${digits.slice(power + 1) || "0"}`;
}
