// The part of JSON Schema in which the form of a registry card is written, as `hansa_verify.schema` judges. A schema and a value
// are both as `read` gives them: objects are Maps, numbers are Numerals.

import { Numeral } from "./canonical.js";
import { compared, decimalOf } from "./exact.js";
import { isWhole } from "./verdict.js";

const FITS = {
  object: (value) => value instanceof Map,
  array: Array.isArray,
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  integer: isWhole,
  number: (value) => value instanceof Numeral,
};

// The first path that does not match and what was expected, or null; parents come before members.
export function firstError(value, schema, path = "") {
  const named = schema.get("type") ?? [];
  const kinds = Array.isArray(named) ? named : [named];
  const allowed = schema.get("enum");
  if (kinds.length && !kinds.some((kind) => FITS[kind](value))) return error(path, `must be of type ${kinds.join(" or ")}`);
  if (schema.has("const") && value !== schema.get("const")) return error(path, `must be ${JSON.stringify(schema.get("const"))}`);
  if (value !== null && allowed && !allowed.includes(value)) return error(path, `must be one of ${allowed.join(", ")}`);
  if (value instanceof Map) return errorInObject(value, schema, path);
  if (Array.isArray(value)) return errorInList(value, schema, path);
  if (typeof value === "string") return errorInText(value, schema, path);
  return value instanceof Numeral ? errorInNumber(value, schema, path) : null;
}

const error = (path, said) => ({ path, said });

const below = (path, name) => (path ? `${path}.${name}` : name);

function errorInObject(value, schema, path) {
  const members = schema.get("properties") ?? new Map();
  const names = schema.get("propertyNames")?.get("enum");
  for (const name of schema.get("required") ?? []) if (!value.has(name)) return error(below(path, name), "is required");
  for (const [name, others] of schema.get("dependentRequired") ?? []) {
    const missing = value.has(name) && others.find((other) => !value.has(other));
    if (missing) return error(below(path, missing), `is required with ${name}`);
  }
  for (const [name, member] of value) {
    if (!members.has(name) && schema.get("additionalProperties") === false) return error(below(path, name), "is not a member of this document");
    const found = members.has(name) ? firstError(member, members.get(name), below(path, name)) : null;
    if (found) return found;
    if (names && !names.includes(name)) return error(below(path, name), "is not a member of this form of the block");
  }
  if (!schema.has("if")) return null;
  const branch = firstError(value, schema.get("if")) ? "else" : "then";
  return schema.has(branch) ? firstError(value, schema.get(branch), path) : null;
}

function errorInList(value, schema, path) {
  const [most, least, contained] = ["maxItems", "minItems", "contains"].map((name) => schema.get(name));
  if (most && value.length > Number(most.text)) return error(path, `must have at most ${most.text} items`);
  if (least && value.length < Number(least.text)) return error(path, `must have at least ${least.text} items`);
  if (contained && !value.includes(contained.get("const"))) return error(path, `must include ${contained.get("const")}`);
  for (const [number, item] of value.entries()) {
    const found = firstError(item, schema.get("items") ?? new Map(), `${path}[${number}]`);
    if (found) return found;
  }
  return null;
}

function errorInText(value, schema, path) {
  const [most, least, pattern] = ["maxLength", "minLength", "pattern"].map((name) => schema.get(name));
  const { length } = [...value];
  if (most && length > Number(most.text)) return error(path, `must have at most ${most.text} characters`);
  if (least && length < Number(least.text)) return error(path, `must have at least ${least.text} characters`);
  if (pattern && !new RegExp(`^(?:${pattern})$`, "u").test(value)) return error(path, `must match ${pattern}`);
  return null;
}

function errorInNumber(value, schema, path) {
  const [most, least, number] = [decimalOf(schema.get("maximum")), decimalOf(schema.get("minimum")), decimalOf(value)];
  if (!number) return error(path, "is out of range");
  if (least && compared(number, least) < 0) return error(path, `must be at least ${schema.get("minimum").text}`);
  if (most && compared(number, most) > 0) return error(path, `must be at most ${schema.get("maximum").text}`);
  return null;
}
