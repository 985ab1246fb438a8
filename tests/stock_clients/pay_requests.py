"""Pay for one call with the x402 client for requests: `python pay_requests.py URL PRIVATE_KEY NETWORK ASSET`. Writes the outcome as JSON."""

import json
import sys

from eth_account import Account
from x402 import x402ClientSync
from x402.http.clients.requests import x402_requests
from x402.mechanisms.evm.exact import ExactEvmScheme

url, key, network, asset = sys.argv[1:]
client = x402ClientSync()
client.register("eip155:*", ExactEvmScheme(Account.from_key(key)))
client.set_spend_controls({"allowed_assets": [{"network": network, "asset": asset}]})
answer = x402_requests(client).get(url, timeout=60)
print(
    json.dumps(
        {"status": answer.status_code, "body": answer.text, "payment": answer.headers.get("payment-response")}
    )
)
