"""Call a tool with the x402 client for MCP: `python pay_mcp.py OPTIONS`. Writes the outcome as JSON.

OPTIONS is JSON with url, tool, arguments, key, network and asset. The client wraps any client of MCP; the one here sends the
messages of a call alone.
"""

import asyncio
import json
import sys
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import httpx
from eth_account import Account
from x402 import x402Client
from x402.mcp import x402MCPClient
from x402.mechanisms.evm.exact import ExactEvmScheme


class PlainClient:
    """Sends tools/call to one address; one that is still loading is asked again."""

    def __init__(self, http: httpx.AsyncClient, url: str) -> None:
        self._http, self._url = http, url

    async def call_tool(self, params: dict[str, Any], *, read_timeout_seconds: timedelta) -> SimpleNamespace:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
        while True:
            answer = await self._http.post(
                self._url, json=message, headers=headers, timeout=read_timeout_seconds.total_seconds()
            )
            if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                break
            await asyncio.sleep(int(answer.headers["Retry-After"]))
        result = answer.json()["result"]
        return SimpleNamespace(
            content=result["content"],
            isError=result["isError"],
            _meta=result.get("_meta"),
            structuredContent=result["structuredContent"],
        )


async def main(options: dict[str, Any]) -> None:
    payer = x402Client()
    payer.register("eip155:*", ExactEvmScheme(Account.from_key(options["key"])))
    payer.set_spend_controls({"allowed_assets": [{name: options[name] for name in ("network", "asset")}]})
    async with httpx.AsyncClient() as http:
        client = x402MCPClient(PlainClient(http, options["url"]), payer)
        done = await client.call_tool(options["tool"], options["arguments"])
    receipt = done.payment_response
    print(
        json.dumps(
            {
                "is_error": done.is_error,
                "paid": done.payment_made,
                "text": done.content[0]["text"] if done.content else None,
                "payment": receipt and receipt.model_dump(by_alias=True),
            }
        )
    )


asyncio.run(main(json.loads(sys.argv[1])))
