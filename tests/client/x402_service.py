"""A service that x402 pays, as servers of that protocol work: verify, work, settle; in process, with a faulty network."""

from base64 import b64decode
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

import httpx2
import msgspec

from hansa.foundation.values import ethereum
from hansa.rooms.commerce.x402.networks import authorization_digest, domain_separator
from hansa_client.pay.wallet import encoded
from tests.registry import TestRegistry
from tests.wallets import TestWallet

ADDRESS = "https://work.example"


@dataclass(frozen=True)
class Signed:
    """Signature that a wallet returns."""

    signature: bytes


@dataclass
class SigningWallet:
    """Signer of typed data like the accounts of `eth_account`. It counts its signatures."""

    wallet: TestWallet = field(default_factory=TestWallet)
    signed: Counter[str] = field(default_factory=Counter)
    is_locked: bool = False

    @property
    def address(self) -> str:
        return self.wallet.address

    def sign_typed_data(self, *, full_message: dict[str, Any]) -> Signed:
        if self.is_locked:
            raise PermissionError("the wallet is locked")
        domain, message = full_message["domain"], full_message["message"]
        self.signed[message["nonce"]] += 1
        digest = authorization_digest(
            domain_separator(
                domain["name"],
                domain["version"],
                domain["chainId"],
                bytes.fromhex(domain["verifyingContract"][2:]),
            ),
            *(bytes.fromhex(message[name][2:]) for name in ("from", "to")),
            [message[name] for name in ("value", "validAfter", "validBefore")],
            bytes.fromhex(message["nonce"][2:]),
        )
        return Signed(self.wallet.sign_digest(digest))


@dataclass
class X402Service(httpx2.AsyncBaseTransport):
    """Service paid by x402. `plan` holds the outcomes of the next paid requests: `request lost`, `answer lost`, a status, `pending`."""

    registry: TestRegistry
    required: dict[str, Any]
    plan: deque[str] = field(default_factory=deque)
    executions: int = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        header = request.headers.get("payment-signature")
        if header is None:
            return self._required("PAYMENT-SIGNATURE header is required")
        fault = self.plan.popleft() if self.plan else ""
        if fault == "request lost":
            raise httpx2.ConnectError("the connection was refused", request=request)
        if fault.isdecimal():
            return httpx2.Response(int(fault))
        answer = await self._paid(msgspec.json.decode(b64decode(header)), is_pending=fault == "pending")
        if fault == "answer lost":
            raise httpx2.ReadError("the connection was closed", request=request)
        return answer

    async def _paid(self, payment: dict[str, Any], *, is_pending: bool) -> httpx2.Response:
        verified = await self._ask("verify", payment)
        if not verified["isValid"]:
            return self._required(verified["invalidReason"])
        self.executions += 1
        if is_pending:
            settled = {"success": False, "errorReason": "settlement_pending"}
        else:
            settled = await self._ask("settle", payment)
        headers = {"payment-response": encoded(settled)}
        return httpx2.Response(200 if settled["success"] else 402, headers=headers, json={"answer": 42})

    async def _ask(self, path: str, payment: dict[str, Any]) -> dict[str, Any]:
        body = {"x402Version": 2, "paymentPayload": payment, "paymentRequirements": payment["accepted"]}
        answer = await self.registry.http.post(f"/x402/{path}", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def _required(self, error: str) -> httpx2.Response:
        stated = {
            "x402Version": 2,
            "error": error,
            "resource": {"url": ADDRESS},
            "accepts": [self.required],
        }
        return httpx2.Response(402, headers={"payment-required": encoded(stated)})


def checksummed(address: str) -> str:
    """An address as wallets show it."""
    return ethereum.checksum_address(bytes.fromhex(address.removeprefix("0x")))
