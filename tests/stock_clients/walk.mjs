// Walk with the SDK of MCP for TypeScript as published: `node walk.mjs BASE REDIRECT_URI WORD [CLIENT_ID_DOCUMENT]`. It is challenged,
// discovers, registers or names its metadata document, and prints the address of consent as JSON; the next line of its input is the
// address that the person was led back to. Then it lists the tools, finds an agent by the word, buys a call of it twice with one
// intent, refreshes, and revokes. Each step is a line of JSON.
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline/promises";
import { auth, UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [base, redirectUrl, word, clientMetadataUrl] = process.argv.slice(2);
const serverUrl = new URL(`${base}/mcp`);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (step) => console.log(JSON.stringify(step));

class Provider {
  kept = {};
  redirectUrl = redirectUrl;
  clientMetadataUrl = clientMetadataUrl;
  clientMetadata = {
    client_name: "TypeScript SDK",
    redirect_uris: [redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  state = () => (this.kept.state = randomUUID());
  clientInformation = () => this.kept.client;
  saveClientInformation = (client) => void (this.kept.client = client);
  tokens = () => this.kept.tokens;
  saveTokens = (tokens) => void (this.kept.tokens = tokens);
  codeVerifier = () => this.kept.verifier;
  saveCodeVerifier = (verifier) => void (this.kept.verifier = verifier);
  saveDiscoveryState = (discovered) => void (this.kept.discovered = discovered);
  discoveryState = () => this.kept.discovered;
  redirectToAuthorization = (address) => say({ consent: address.href });
}

const provider = new Provider();
const transportOf = () => new StreamableHTTPClientTransport(serverUrl, { authProvider: provider });
const newClient = () => new Client({ name: "walk", version: "1" });

const challenged = transportOf();
try {
  await newClient().connect(challenged);
  throw new Error("the server asked for no authorization");
} catch (error) {
  if (!(error instanceof UnauthorizedError)) throw error;
}
const answer = new URL((await lines.next()).value).searchParams;
if (answer.get("state") !== provider.kept.state) throw new Error("another state");
await challenged.finishAuth(answer.get("code"));
say({ scope: provider.tokens().scope, client_id: provider.kept.client.client_id });

const client = newClient();
await client.connect(transportOf());
const called = async (name, given = {}) => {
  const result = await client.callTool({ name, arguments: given });
  if (result.isError) throw new Error(`${name}: ${JSON.stringify(result.structuredContent)}`);
  return result.structuredContent.result;
};
const listed = await client.listTools();
const found = await called("find_agents", { q: word, answerable_only: false });
const payee = found.results.find((one) => one.name === word).did;
const preview = await called("preview_call", { agent: payee, message: "good morning" });
const bought = await called("buy_call", { intent: preview.intent });
const again = await called("buy_call", { intent: preview.intent });
say({ tools: listed.tools.map((tool) => tool.name), total: preview.total, bought, again });

const before = provider.tokens();
await auth(provider, { serverUrl });
const after = provider.tokens();
const balance = (await called("read_balance")).balance;
say({ refreshed: before.refresh_token !== after.refresh_token, scope: after.scope, balance });

await lines.next();
const revoked = await fetch(provider.kept.discovered.authorizationServerMetadata.revocation_endpoint, {
  method: "POST",
  body: new URLSearchParams({ token: after.refresh_token, client_id: provider.kept.client.client_id }),
});
let refused = false;
try {
  await called("read_balance");
} catch {
  refused = true;
}
say({ revoked: revoked.status, refused });
process.exit(0);
