// Whether a leaf, or an older log, is in the tiled log under a checkpoint that the auditor signed (RFC 6962 trees, C2SP signed
// notes), as `hansa_verify.log` judges.

import { isSigned } from "./ed25519.js";
import { hex, isWhole, octetsOf, sha256, step, verdictOf } from "./verdict.js";

const NOTE_MAX_CHARACTERS = 64 * 1024;
const SIGNATURES_MAX = 32;
const HASH_BYTES = 32;
const SIZE_MAX = 2n ** 62n;
const KEY_ID_BYTES = 4;
const PREFIX = "\u2014 ";

export class BadCheckpoint extends Error {}

export async function verifyLogProof(proof, keys) {
  if (!isProofOfLeaf(proof)) {
    return verdictOf([step("proof", false, "a proof has the members checkpoint, entry, index, size and hashes")]);
  }
  const { checkpoint, signed } = await judgedCheckpoint("checkpoint", proof.get("checkpoint"), keys);
  if (!checkpoint) return verdictOf([signed]);
  const said = `leaf ${proof.get("index").text} of ${checkpoint.size}: ${proof.get("entry")}`;
  return verdictOf([signed, await judgedStep("inclusion", said, () => isLeafOf(proof, checkpoint))]);
}

export function isProofOfLeaf(proof) {
  return hasMembers(proof, { checkpoint: isText, entry: isText, index: isWhole, size: isWhole, hashes: Array.isArray });
}

// Whether the entry of a proof is a leaf of the tree of this checkpoint. Throws BadCheckpoint.
export async function isLeafOf(proof, checkpoint) {
  const [index, size] = ["index", "size"].map((name) => BigInt(proof.get(name).text));
  const hashes = proof.get("hashes").map(readHash);
  const leaf = await sha256(Uint8Array.of(0), octetsOf(proof.get("entry")));
  return size === checkpoint.size && provesInclusion(index, size, leaf, hashes, checkpoint.root);
}

// `oldNote` is the older checkpoint, which the reader has kept.
export async function verifyLogConsistency(proof, keys, oldNote) {
  const kinds = { checkpoint: isText, old_size: isWhole, size: isWhole, hashes: Array.isArray };
  if (!hasMembers(proof, kinds)) {
    return verdictOf([step("proof", false, "a proof has the members checkpoint, old_size, size and hashes")]);
  }
  const { checkpoint, signed } = await judgedCheckpoint("checkpoint", proof.get("checkpoint"), keys);
  const old = await judgedCheckpoint("old checkpoint", oldNote, keys);
  if (!checkpoint || !old.checkpoint) return verdictOf([signed, old.signed]);
  const [oldSize, size] = ["old_size", "size"].map((name) => BigInt(proof.get(name).text));
  const said = `the log continues the checkpoint of ${old.checkpoint.size} leaves`;
  return verdictOf([
    signed,
    old.signed,
    await judgedStep("consistency", said, async () => {
      const hashes = proof.get("hashes").map(readHash);
      const isOfSizes = oldSize === old.checkpoint.size && size === checkpoint.size;
      return isOfSizes && checkpoint.origin === old.checkpoint.origin && provesConsistency(old.checkpoint, checkpoint, hashes);
    }),
  ]);
}

const hasMembers = (proof, kinds) =>
  proof instanceof Map && Object.entries(kinds).every(([name, fits]) => fits(proof.get(name)));

async function judgedCheckpoint(name, note, keys) {
  try {
    const checkpoint = await readCheckpoint(note, [...keys.values()]);
    const others = otherSigners(note, checkpoint.origin);
    const said = `${checkpoint.origin}, ${checkpoint.size} leaves, signed`;
    return { checkpoint, signed: step(name, true, others ? `${said}; ${others} other signatures not judged` : said) };
  } catch (trouble) {
    if (!(trouble instanceof BadCheckpoint)) throw trouble;
    return { checkpoint: null, signed: step(name, false, trouble.message) };
  }
}

async function judgedStep(name, said, holds) {
  try {
    return step(name, await holds(), said);
  } catch (trouble) {
    if (!(trouble instanceof BadCheckpoint)) throw trouble;
    return step(name, false, trouble.message);
  }
}

const isText = (value) => typeof value === "string";

export async function readCheckpoint(note, keys) {
  if ([...note].length > NOTE_MAX_CHARACTERS) throw new BadCheckpoint(`a checkpoint has at most ${NOTE_MAX_CHARACTERS} characters`);
  const end = note.lastIndexOf("\n\n");
  const text = `${note.slice(0, Math.max(end, 0))}\n`;
  const lines = text.split("\n").slice(0, -1);
  if (end < 0 || lines.length < 3 || lines.includes("")) {
    throw new BadCheckpoint("a checkpoint has origin, size and root, an empty line, and signatures");
  }
  const signatures = note.slice(end + 2).split("\n");
  if (!signatures.slice(0, -1).every(isSignatureLine)) throw new BadCheckpoint("behind the empty line a checkpoint has lines of signatures alone");
  if (signatures.at(-1) !== "") throw new BadCheckpoint("the last line of a checkpoint ends with a line feed");
  const checkpoint = { origin: lines[0], size: readSize(lines[1]), root: readHash(lines[2]) };
  if (checkpoint.size === 0n && hex(checkpoint.root) !== hex(await sha256(octetsOf("")))) {
    throw new BadCheckpoint("a log without leaves has the SHA-256 of nothing as its root");
  }
  for (const { point } of keys.filter((key) => signsCheckpointOf(key, checkpoint.size))) {
    if (await isSignedBy(text, note.slice(end + 2), checkpoint.origin, point)) return checkpoint;
  }
  throw new BadCheckpoint(`no key that the auditor had at ${checkpoint.size} leaves signed the checkpoint`);
}

// A name without blanks or plus, and base64 of a key id and what follows it.
function isSignatureLine(line) {
  const [name, signature, ...more] = line.startsWith(PREFIX) ? line.slice(PREFIX.length).split(" ") : [];
  if (!name || more.length || !/^[^\s+\p{C}\p{Z}]+$/u.test(name)) return false;
  try {
    return base64(signature ?? "").length > KEY_ID_BYTES;
  } catch (trouble) {
    if (trouble instanceof BadCheckpoint) return false;
    throw trouble;
  }
}

// A retired key is for checkpoints up to the size that the log had at its retirement; without that size it is for none.
function signsCheckpointOf({ retiredAtId, retiredAtSize }, size) {
  return retiredAtSize === null ? retiredAtId === null : size <= retiredAtSize;
}

// How many lines name another signer than the log: witnesses, whose keys a page does not know.
function otherSigners(note, origin) {
  const lines = note.slice(note.lastIndexOf("\n\n") + 2).split("\n");
  const signers = lines.filter(Boolean).map((line) => line.slice(line.startsWith(PREFIX) ? PREFIX.length : 0, Math.max(line.lastIndexOf(" "), 0)));
  return signers.filter((signer) => signer !== origin).length;
}

async function isSignedBy(text, signatures, name, point) {
  const keyId = (await sha256(octetsOf(`${name}\n`), Uint8Array.of(1), point)).slice(0, KEY_ID_BYTES);
  let found = 0;
  for (const line of signatures.split("\n")) {
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
    found += 1;
    // A line with its name and key id that is not its signature makes the note malformed.
    if (found > SIGNATURES_MAX || !(await isSigned(point, raw.slice(KEY_ID_BYTES), octetsOf(text)))) return false;
  }
  return found > 0;
}

async function provesInclusion(index, size, leaf, hashes, root) {
  if (index < 0n || index >= size || size > SIZE_MAX) return false;
  const found = await climb(index, size - 1n, leaf, hashes);
  return found !== null && hex(found.whole) === hex(root);
}

async function provesConsistency(old, newer, hashes) {
  if (old.size > newer.size || newer.size > SIZE_MAX) return false;
  if (old.size === 0n || old.size === newer.size) return !hashes.length && (old.size === 0n || hex(old.root) === hex(newer.root));
  const [first, ...path] = (old.size & (old.size - 1n)) === 0n ? [old.root, ...hashes] : hashes;
  let [number, last] = [old.size - 1n, newer.size - 1n];
  while (number % 2n === 1n) [number, last] = [number >> 1n, last >> 1n];
  const found = first ? await climb(number, last, first, path) : null;
  return found !== null && hex(found.before) === hex(old.root) && hex(found.whole) === hex(newer.root);
}

// The roots of the tree that ends with a node and of the whole one; null where the path has another length.
async function climb(start, end, node, hashes) {
  let [number, last, before, whole] = [start, end, node, node];
  for (const sibling of hashes) {
    if (last === 0n) return null;
    if (number % 2n === 1n || number === last) {
      [before, whole] = [await inner(sibling, before), await inner(sibling, whole)];
      while (number % 2n === 0n && number !== 0n) [number, last] = [number >> 1n, last >> 1n];
    } else {
      whole = await inner(whole, sibling);
    }
    [number, last] = [number >> 1n, last >> 1n];
  }
  return last === 0n ? { before, whole } : null;
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
