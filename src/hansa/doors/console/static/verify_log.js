// Whether a leaf is in the tiled log under a checkpoint that the auditor signed (RFC 6962 trees, C2SP signed notes), as
// `hansa_verify.log` judges.

import { isSigned } from "./ed25519.js";
import { hex, isWhole, octetsOf, sha256, step, verdictOf } from "./verdict.js";

const NOTE_MAX_CHARACTERS = 64 * 1024;
const SIGNATURES_MAX = 32;
const HASH_BYTES = 32;
const SIZE_MAX = 2n ** 62n;
const KEY_ID_BYTES = 4;
const PREFIX = "\u2014 ";

class BadCheckpoint extends Error {}

export async function verifyLogProof(proof, keys) {
  const kinds = { checkpoint: isText, entry: isText, index: isWhole, size: isWhole, hashes: Array.isArray };
  if (!(proof instanceof Map) || Object.entries(kinds).some(([name, fits]) => !fits(proof.get(name)))) {
    return verdictOf([step("proof", false, "a proof has the members checkpoint, entry, index, size and hashes")]);
  }
  let checkpoint;
  try {
    checkpoint = await readCheckpoint(proof.get("checkpoint"), [...keys.values()]);
  } catch (trouble) {
    if (!(trouble instanceof BadCheckpoint)) throw trouble;
    return verdictOf([step("checkpoint", false, trouble.message)]);
  }
  const signed = step("checkpoint", true, `${checkpoint.origin}, ${checkpoint.size} leaves, signed`);
  const [index, size] = [BigInt(proof.get("index").text), BigInt(proof.get("size").text)];
  const said = `leaf ${index} of ${checkpoint.size}: ${proof.get("entry")}`;
  try {
    const hashes = proof.get("hashes").map(readHash);
    const leaf = await sha256(Uint8Array.of(0), octetsOf(proof.get("entry")));
    const holds = size === checkpoint.size && (await provesInclusion(index, size, leaf, hashes, checkpoint.root));
    return verdictOf([signed, step("inclusion", holds, said)]);
  } catch (trouble) {
    if (!(trouble instanceof BadCheckpoint)) throw trouble;
    return verdictOf([signed, step("inclusion", false, trouble.message)]);
  }
}

const isText = (value) => typeof value === "string";

async function readCheckpoint(note, keys) {
  if ([...note].length > NOTE_MAX_CHARACTERS) throw new BadCheckpoint(`a checkpoint has at most ${NOTE_MAX_CHARACTERS} characters`);
  const end = note.lastIndexOf("\n\n");
  const text = `${note.slice(0, Math.max(end, 0))}\n`;
  const lines = text.split("\n").slice(0, -1);
  if (end < 0 || lines.length < 3 || lines.includes("")) {
    throw new BadCheckpoint("a checkpoint has origin, size and root, an empty line, and signatures");
  }
  const checkpoint = { origin: lines[0], size: readSize(lines[1]), root: readHash(lines[2]) };
  for (const { point } of keys) {
    if (await isSignedBy(text, note.slice(end + 2), checkpoint.origin, point)) return checkpoint;
  }
  throw new BadCheckpoint("no key of the auditor signed the checkpoint");
}

async function isSignedBy(text, signatures, name, point) {
  const keyId = (await sha256(octetsOf(`${name}\n`), Uint8Array.of(1), point)).slice(0, KEY_ID_BYTES);
  for (const line of signatures.split("\n").slice(0, SIGNATURES_MAX)) {
    const place = line.lastIndexOf(" ");
    if (!line.startsWith(PREFIX) || line.slice(PREFIX.length, place) !== name) continue;
    let raw;
    try {
      raw = base64(line.slice(place + 1));
    } catch (trouble) {
      if (trouble instanceof BadCheckpoint) continue;
      throw trouble;
    }
    if (hex(raw.slice(0, KEY_ID_BYTES)) !== hex(keyId)) continue;
    if (await isSigned(point, raw.slice(KEY_ID_BYTES), octetsOf(text))) return true;
  }
  return false;
}

async function provesInclusion(index, size, leaf, hashes, root) {
  if (index < 0n || index >= size || size > SIZE_MAX) return false;
  let [number, last, found] = [index, size - 1n, leaf];
  for (const sibling of hashes) {
    if (last === 0n) return false;
    if (number % 2n === 1n || number === last) {
      found = await inner(sibling, found);
      while (number % 2n === 0n && number !== 0n) [number, last] = [number >> 1n, last >> 1n];
    } else {
      found = await inner(found, sibling);
    }
    [number, last] = [number >> 1n, last >> 1n];
  }
  return last === 0n && hex(found) === hex(root);
}

const inner = (left, right) => sha256(Uint8Array.of(1), left, right);

function readSize(text) {
  if (!/^(0|[1-9][0-9]{0,18})$/.test(text)) throw new BadCheckpoint("the size of a tree is a decimal number");
  return BigInt(text);
}

function readHash(text) {
  const raw = base64(text);
  if (raw.length !== HASH_BYTES) throw new BadCheckpoint(`a hash has ${HASH_BYTES} bytes`);
  return raw;
}

function base64(text) {
  let raw;
  try {
    raw = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    throw new BadCheckpoint("not base64");
  }
  if (!raw.length || btoa(String.fromCharCode(...raw)) !== text) throw new BadCheckpoint("not canonical base64");
  return raw;
}
