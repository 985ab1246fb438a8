// Read exported cards with @a2a-js/sdk, verify them and call each agent: `node read_cards.mjs FILE`, whose JSON has `cards` (texts)
// and `keys` by kid. No network: what the client fetches is answered here. Its last line is JSON: what it read, and its requests.
import { readFileSync } from "node:fs";
import { verifyAgentCardSignature } from "@a2a-js/sdk";
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from "@a2a-js/sdk/client";

const { cards, keys } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const verify = verifyAgentCardSignature(async (kid) => keys[kid]);
const HOME = "https://registry.example.org";
const MESSAGE = { messageId: "1", role: 1, parts: [{ content: { $case: "text", value: "Hello" }, mediaType: "text/plain" }] };

function answering(text, calls) {
  return async (url, init) => {
    if (String(url).startsWith(HOME)) return new Response(text, { headers: { "content-type": "application/json" } });
    const request = JSON.parse(init.body);
    calls.push({ url: String(url), method: request.method });
    const message = { messageId: "2", role: "ROLE_AGENT", parts: [{ text: "Hello back" }] };
    const answer = { jsonrpc: "2.0", id: request.id, result: { message } };
    return new Response(JSON.stringify(answer), { headers: { "content-type": "application/json" } });
  };
}

const read = [];
for (const text of cards) {
  const calls = [];
  const fetchImpl = answering(text, calls);
  const card = await new DefaultAgentCardResolver({ fetchImpl }).resolve(HOME, "/card");
  await verify(card);
  const factory = new ClientFactory({ transports: [new JsonRpcTransportFactory({ fetchImpl })] });
  const client = await factory.createFromAgentCard(card);
  const answer = await client.sendMessage({ message: MESSAGE, tenant: "" });
  read.push({ name: card.name, extended: card.capabilities?.extendedAgentCard ?? false, calls, answer });
}
console.log(JSON.stringify(read));
