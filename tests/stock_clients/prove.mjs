// Prove with snarkjs, unmodified: `node prove.mjs WASM ZKEY INPUT`, where INPUT is a JSON file with the signals of the circuit. The last line
// is JSON: `proof` and `public`. `node prove.mjs verify FILE` verifies {key, public, proof} of a file; the last line is true or false.
import { readFileSync } from "node:fs";
import * as snarkjs from "snarkjs";

const [first, second, third] = process.argv.slice(2);
const read = (file) => JSON.parse(readFileSync(file, "utf8"));
if (first === "verify") {
  const { key, public: signals, proof } = read(second);
  console.log(JSON.stringify(await snarkjs.groth16.verify(key, signals, proof)));
} else {
  const { proof, publicSignals } = await snarkjs.groth16.fullProve(read(third), first, second);
  console.log(JSON.stringify({ proof, public: publicSignals }));
}
process.exit(0);
