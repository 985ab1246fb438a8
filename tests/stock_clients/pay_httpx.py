"""Pay for one call with the x402 client for httpx: `python pay_httpx.py URL PRIVATE_KEY NETWORK ASSET`. Writes the outcome as JSON."""

import asyncio
import json
import sys

from eth_account import Account
from x402 import x402Client
from x402.http.clients.httpx import x402HttpxClient
from x402.mechanisms.evm.exact import ExactEvmScheme


async def main(url: str, key: str, network: str, asset: str) -> None:
    client = x402Client()
    client.register("eip155:*", ExactEvmScheme(Account.from_key(key)))
    client.set_spend_controls({"allowed_assets": [{"network": network, "asset": asset}]})
    async with x402HttpxClient(client, timeout=60) as http:
        answer = await http.get(url)
        print(
            json.dumps(
                {
                    "status": answer.status_code,
                    "body": answer.text,
                    "payment": answer.headers.get("payment-response"),
                }
            )
        )


asyncio.run(main(*sys.argv[1:]))
