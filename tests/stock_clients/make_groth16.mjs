// Make the vectors of tests/vectors/groth16 with circom2 and snarkjs, unmodified: `node make_groth16.mjs DIR`, where DIR has the circuits.
// Writes for each circuit the witness program (wasm), the proving key (zkey), the verification key and proofs. The setup takes two random
// contributions, so that a new run gives other keys and other proofs of the same circuits.
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { copyFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as snarkjs from "snarkjs";

const R = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;
const directory = process.argv[2];
const work = mkdtempSync(join(tmpdir(), "groth16-"));
const compiler = createRequire(import.meta.url).resolve("circom2/cli.js");
const signal = (text) => (BigInt(`0x${createHash("sha256").update(text).digest("hex")}`) % R).toString();
const random = () => randomBytes(32).toString("hex");

const HOLDERS = ["did:hansa:hansa.local:first", "did:hansa:hansa.local:second"];
const SUBJECTS = ["token:11111111-1111-4111-8111-111111111111", "contract:7"];
const FACTORS = [[3, 5], [11, 13], [1000003, 1000033]];
const CASES = {
  bound: HOLDERS.flatMap((holder) =>
    SUBJECTS.flatMap((subject) =>
      FACTORS.map(([left, right]) => ({
        holder,
        subject,
        input: { holder: signal(holder), subject: signal(subject), product: String(left * right), left, right },
      })),
    ),
  ),
  member: HOLDERS.flatMap((holder) => [2, 3, 1024].map((x) => ({ holder, input: { holder: signal(holder), x } }))),
};

const [begun, contributed, powers] = ["begun", "contributed", "powers"].map((name) => join(work, `${name}.ptau`));
const curve = await snarkjs.curves.getCurveFromName("bn128");
await snarkjs.powersOfTau.newAccumulator(curve, 6, begun);
await snarkjs.powersOfTau.contribute(begun, contributed, "first", random());
await snarkjs.powersOfTau.preparePhase2(contributed, powers);

for (const [circuit, cases] of Object.entries(CASES)) {
  copyFileSync(join(directory, `${circuit}.circom`), join(work, `${circuit}.circom`));
  execFileSync(process.execPath, [compiler, `${circuit}.circom`, "--r1cs", "--wasm"], { cwd: work });
  const [wasm, first, key] = [join(work, `${circuit}_js`, `${circuit}.wasm`), join(work, "first.zkey"), join(directory, `${circuit}.zkey`)];
  await snarkjs.zKey.newZKey(join(work, `${circuit}.r1cs`), powers, first);
  await snarkjs.zKey.contribute(first, key, "second", random());
  copyFileSync(wasm, join(directory, `${circuit}.wasm`));
  const [verificationKey, uncontributed] = [await snarkjs.zKey.exportVerificationKey(key), await snarkjs.zKey.exportVerificationKey(first)];
  const proofs = [];
  for (const { input, ...named } of cases) {
    const { proof, publicSignals } = await snarkjs.groth16.fullProve(input, wasm, key);
    if (!(await snarkjs.groth16.verify(verificationKey, publicSignals, proof))) throw new Error(`${circuit}: snarkjs refuses its proof`);
    proofs.push({ ...named, public_inputs: publicSignals, proof });
  }
  const made = { made_by: "snarkjs 0.7.6, circom2 0.2.23", verification_key: verificationKey, uncontributed_key: uncontributed, proofs };
  writeFileSync(join(directory, `${circuit}.json`), `${JSON.stringify(made, null, 1)}\n`);
}
process.exit(0);
