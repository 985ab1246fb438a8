// Read exported cards with @a2a-js/sdk of A2A 1.0 and of A2A 0.3, verify them and call each agent: `node read_cards.mjs FILE`, whose JSON
// has `cards` (texts) and `keys` by kid. No network: what the clients fetch is answered here. The last line is JSON: what each client
// read of each card, and its requests. The client of 0.3 verifies no signatures.
import { readFileSync } from "node:fs";
import { verifyAgentCardSignature } from "@a2a-js/sdk";
import * as present from "@a2a-js/sdk/client";
import * as older from "a2a-sdk-0.3/client";

const { cards, keys } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const verify = verifyAgentCardSignature(async (kid) => keys[kid]);
const HOME = "https://registry.example.org";
const CLIENTS = {
  "1.0": {
    sdk: present,
    verify,
    asked: { message: { messageId: "1", role: 1, parts: [{ content: { $case: "text", value: "Hello" }, mediaType: "text/plain" }] }, tenant: "" },
    result: { message: { messageId: "2", role: "ROLE_AGENT", parts: [{ text: "Hello back" }] } },
    isExtended: (card) => card.capabilities?.extendedAgentCard ?? false,
  },
  "0.3": {
    sdk: older,
    verify: async () => {},
    asked: { message: { kind: "message", messageId: "1", role: "user", parts: [{ kind: "text", text: "Hello" }] } },
    result: { kind: "message", messageId: "2", role: "agent", parts: [{ kind: "text", text: "Hello back" }] },
    isExtended: (card) => card.supportsAuthenticatedExtendedCard ?? false,
  },
};

function answering(text, result, calls) {
  return async (url, init) => {
    const headers = { "content-type": "application/json" };
    if (String(url).startsWith(HOME)) return new Response(text, { headers });
    const request = JSON.parse(init.body);
    calls.push({ url: String(url), method: request.method });
    return new Response(JSON.stringify({ jsonrpc: "2.0", id: request.id, result }), { headers });
  };
}

async function readBy({ sdk, verify, asked, result, isExtended }, text) {
  const calls = [];
  const fetchImpl = answering(text, result, calls);
  const card = await new sdk.DefaultAgentCardResolver({ fetchImpl }).resolve(HOME, "/card");
  await verify(card);
  const factory = new sdk.ClientFactory({ transports: [new sdk.JsonRpcTransportFactory({ fetchImpl })] });
  const client = await factory.createFromAgentCard(card);
  const answer = await client.sendMessage(asked);
  return { name: card.name, extended: isExtended(card), calls, answer };
}

const read = {};
for (const [version, client] of Object.entries(CLIENTS)) {
  read[version] = [];
  for (const text of cards) read[version].push(await readBy(client, text));
}
console.log(JSON.stringify(read));
