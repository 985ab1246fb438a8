// Log in with oauth4webapi as published: `node log_in.mjs BASE REDIRECT_URI`. It discovers the server by the resource, registers, and prints
// the address of consent as JSON; the next line of its input is the address that the person was led back to. Then it exchanges the
// code, refreshes, and revokes. The last line is JSON: what it got.
import { createInterface } from "node:readline/promises";
import * as oauth from "oauth4webapi";

const [base, redirectUri] = process.argv.slice(2);
const insecure = { [oauth.allowInsecureRequests]: true };
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

const resource = new URL(`${base}/mcp`);
const described = await oauth.processResourceDiscoveryResponse(resource, await oauth.resourceDiscoveryRequest(resource, insecure));
const issuer = new URL(described.authorization_servers[0]);
const found = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
const server = await oauth.processDiscoveryResponse(issuer, found);

const registered = await oauth.processDynamicClientRegistrationResponse(
  await oauth.dynamicClientRegistrationRequest(
    server,
    { redirect_uris: [redirectUri], client_name: "oauth4webapi", token_endpoint_auth_method: "none" },
    insecure,
  ),
);
const client = { client_id: registered.client_id };
const authentication = oauth.None();

const verifier = oauth.generateRandomCodeVerifier();
const state = oauth.generateRandomState();
const consent = new URL(server.authorization_endpoint);
for (const [name, value] of Object.entries({
  response_type: "code",
  client_id: client.client_id,
  redirect_uri: redirectUri,
  scope: described.scopes_supported.join(" "),
  state,
  resource: described.resource,
  code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
  code_challenge_method: "S256",
})) {
  consent.searchParams.set(name, value);
}
console.log(JSON.stringify({ consent: consent.href }));

const { value: ledBack } = await lines.next();
const answer = oauth.validateAuthResponse(server, client, new URL(ledBack), state);
const exchanged = await oauth.authorizationCodeGrantRequest(server, client, authentication, answer, redirectUri, verifier, {
  additionalParameters: { resource: described.resource },
  ...insecure,
});
const tokens = await oauth.processAuthorizationCodeResponse(server, client, exchanged);
const again = await oauth.refreshTokenGrantRequest(server, client, authentication, tokens.refresh_token, insecure);
const refreshed = await oauth.processRefreshTokenResponse(server, client, again);
console.log(JSON.stringify({ access_token: refreshed.access_token, scope: refreshed.scope }));

await lines.next();
const revoked = await oauth.revocationRequest(server, client, authentication, refreshed.refresh_token, insecure);
await oauth.processRevocationResponse(revoked);
console.log(JSON.stringify({ revoked: true, first_scope: tokens.scope }));
process.exit(0);
