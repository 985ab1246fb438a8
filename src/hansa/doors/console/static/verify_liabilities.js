// Merkle-sum tree of what a registry owes: the commitment of an attestation, and the steps that lead to it from an account or from
// the public blocks, as `hansa_verify.liabilities` takes them. Amounts are minor units as BigInt.

import { bytesOf, NotBase64url } from "./ed25519.js";
import { fromHex, hex, isWhole, octetsOf, sha256, step } from "./verdict.js";

const UNIT = 10n ** 8n;
const SUM_MAX = 2n ** 63n - 1n;
const HEIGHT_MAX = 44;
const SALT_BYTES = 24;
const BLOCK_HEIGHT = 12;
const BLOCKS_MAX = 2 ** 20;
const AMOUNT = /^(0|[1-9][0-9]{0,11})(?:\.([0-9]{0,7}[1-9]))?$/;
const HASH = /^[0-9a-f]{64}$/;

class NotAProof extends Error {}

// The commitment in the payload of an attestation, a Map, or null.
export function readLiabilities(said) {
  const found = said.get("liabilities");
  if (!(found instanceof Map) || !isWhole(found.get("accounts")) || found.get("accounts").text.startsWith("-")) return null;
  try {
    return { root: hashOf(found.get("root")), total: amountOf(found.get("total")), accounts: found.get("accounts").text };
  } catch (trouble) {
    if (trouble instanceof NotAProof) return null;
    throw trouble;
  }
}

function amountOf(text) {
  const found = typeof text === "string" ? AMOUNT.exec(text) : null;
  if (!found) throw new NotAProof("an amount is a decimal string");
  const minor = BigInt(found[1]) * UNIT + BigInt((found[2] ?? "").padEnd(8, "0"));
  if (minor > SUM_MAX) throw new NotAProof("an amount is beyond 63 bits");
  return minor;
}

export async function judgeBalance(document, committed, balance) {
  try {
    const account = document.get("agent_did");
    const leaves = document.get("leaves");
    if (typeof account !== "string" || !Array.isArray(leaves) || leaves.length !== 2) {
      throw new NotAProof("a balance proof is an object with agent_did, balance and two leaves");
    }
    const stated = amountOf(document.get("balance"));
    const read = leaves.map(readLeaf);
    const total = read[0].amount + read[1].amount;
    const expected = balance ?? stated;
    return [
      step("leaves", read[0].index !== read[1].index, "the two leaves are at different places"),
      await leadsToRoot(account, read[0], committed),
      await leadsToRoot(account, read[1], committed),
      step("balance", total === stated && total === expected, `${account} is counted with ${shown(total)}, expected ${shown(expected)}`),
    ];
  } catch (trouble) {
    if (!(trouble instanceof NotAProof)) throw trouble;
    return [step("proof", false, trouble.message)];
  }
}

export async function judgeBlocks(document, committed) {
  try {
    const listed = document.get("blocks");
    if (!Array.isArray(listed) || listed.length < 1 || listed.length > BLOCKS_MAX) throw new NotAProof("blocks is a list of nodes");
    const level = listed.map(nodeOf);
    const total = level.reduce((sum, { amount }) => sum + amount, 0n);
    const root = await rootOver(level);
    return [
      step("sum", total === committed.total, `${level.length} blocks add up to ${shown(total)}, the attestation states ${shown(committed.total)}`),
      step("root", isRoot(root, committed), "the blocks lead to the root"),
    ];
  } catch (trouble) {
    if (!(trouble instanceof NotAProof)) throw trouble;
    return [step("blocks", false, trouble.message)];
  }
}

async function leadsToRoot(account, { index, salt, amount, path }, committed) {
  const name = `leaf ${index}`;
  if (index >= 1n << BigInt(path.length)) return step(name, false, "the place is outside of the tree");
  let node = { amount, hash: await sha256(Uint8Array.of(0), salt, eight(amount), octetsOf(account)) };
  for (const [height, sibling] of path.entries()) {
    node = (index >> BigInt(height)) & 1n ? await parent(sibling, node) : await parent(node, sibling);
  }
  return step(name, isRoot(node, committed), `${path.length} nodes lead to the root over ${shown(node.amount)}`);
}

async function parent(left, right) {
  const amount = left.amount + right.amount;
  if (amount > SUM_MAX) throw new NotAProof("a sum is beyond 63 bits");
  return { amount, hash: await sha256(Uint8Array.of(1), eight(left.amount), left.hash, eight(right.amount), right.hash) };
}

async function rootOver(blocks) {
  let free = { amount: 0n, hash: await sha256(Uint8Array.of(2)) };
  for (let height = 0; height < BLOCK_HEIGHT; height += 1) free = await parent(free, free);
  let level = blocks;
  while (level.length > 1) {
    const above = [];
    for (let place = 0; place < level.length; place += 2) above.push(await parent(level[place], level[place + 1] ?? free));
    level = above;
    free = await parent(free, free);
  }
  return level[0];
}

function readLeaf(value) {
  if (!(value instanceof Map) || !isWhole(value.get("index")) || value.get("index").text.startsWith("-")) {
    throw new NotAProof("a leaf is an object with index, salt, amount and path");
  }
  const path = value.get("path");
  if (!Array.isArray(path) || path.length < 1 || path.length > HEIGHT_MAX) throw new NotAProof(`a path has 1 to ${HEIGHT_MAX} nodes`);
  let salt;
  try {
    salt = bytesOf(value.get("salt"));
  } catch (trouble) {
    if (trouble instanceof NotBase64url) throw new NotAProof(`a salt: ${trouble.message}`);
    throw trouble;
  }
  if (salt.length !== SALT_BYTES) throw new NotAProof(`a salt has ${SALT_BYTES} bytes`);
  return { index: BigInt(value.get("index").text), salt, amount: amountOf(value.get("amount")), path: path.map(nodeOf) };
}

function nodeOf(value) {
  if (!(value instanceof Map)) throw new NotAProof("a node is an object with amount and hash");
  return { amount: amountOf(value.get("amount")), hash: hashOf(value.get("hash")) };
}

function hashOf(text) {
  if (typeof text !== "string" || !HASH.test(text)) throw new NotAProof("a hash is 64 lowercase hex digits");
  return fromHex(text);
}

const isRoot = ({ amount, hash }, committed) => amount === committed.total && hex(hash) === hex(committed.root);

function eight(amount) {
  const octets = new Uint8Array(8);
  new DataView(octets.buffer).setBigUint64(0, amount);
  return octets;
}

function shown(minor) {
  const fraction = (minor % UNIT).toString().padStart(8, "0").replace(/0+$/, "");
  return `${minor / UNIT}${fraction && `.${fraction}`}`;
}
