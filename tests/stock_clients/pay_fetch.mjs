// Pay for one call with @x402/fetch: `node pay_fetch.mjs URL PRIVATE_KEY NETWORK ASSET`. Writes what came of it as JSON.
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import { ExactEvmScheme } from "@x402/evm";
import { privateKeyToAccount } from "viem/accounts";

const [url, key, network, asset] = process.argv.slice(2);
const client = new ExactEvmScheme(privateKeyToAccount(key));
const pay = wrapFetchWithPaymentFromConfig(fetch, {
  schemes: [{ network: "eip155:*", client }],
  spendControls: { allowedAssets: [{ network, asset }] },
});
const answer = await pay(url);
const payment = answer.headers.get("payment-response");
console.log(JSON.stringify({ status: answer.status, body: await answer.text(), payment }));
