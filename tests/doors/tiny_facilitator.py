"""Facilitator of payment tokens without Hansa: the routes of the suite `payments` in memory, for tests of the suite.

`defects` plants faults: `pays_again`, `pays_more`, `states_more`, `accepts_expired`, `accepts_other_payee`, `consumes_for_others`,
`settles_for_others`, `pays_released`, `fails_on_bodies`, `forgets_keys`.
"""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

PAYER, PAYEE = "did:web:payer.example", "did:web:payee.example"
TOKENS = {"payer-secret": PAYER, "payee-secret": PAYEE}
PREFIX = "/api/v1/a2a-payment/"
SHORTER = 59.9
"""Seconds by which a token ends earlier than it should, so that a test need not wait a minute."""


class Refused(Exception):
    """A request that changes nothing: the status and the sentence."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


def number(value: object) -> Decimal:
    """The amount of a request. Raises: Refused."""
    text = value if isinstance(value, str) else ""
    whole, _, fraction = text.partition(".")
    if not (whole + fraction).isdecimal() or not whole or Decimal(text) <= 0:
        raise Refused(400, "amount must be a decimal string greater than 0")
    return Decimal(text)


class Book:
    """Tokens and balances, under one lock."""

    def __init__(self, defects: frozenset[str]) -> None:
        self.defects, self.lock = defects, Lock()
        self.balances = {PAYER: Decimal(100), PAYEE: Decimal(0)}
        self.tokens: dict[str, dict[str, Any]] = {}
        self.keys: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}

    def authorize(self, did: str, body: dict[str, Any], key: str | None) -> dict[str, Any]:
        amount, payee = number(body.get("amount")), body.get("target_agent_did")
        if not isinstance(payee, str) or len(payee) < 10:
            raise Refused(400, "target_agent_did must have at least 10 characters")
        if amount > self.balances[did]:
            raise Refused(402, f"{self.balances[did]} available, {amount} required")
        if key in self.keys and "forgets_keys" not in self.defects:
            asked, answer = self.keys[key]
            if asked != body:
                raise Refused(422, "the key was used for another body")
            return answer
        ends = datetime.now(UTC) + timedelta(seconds=body.get("ttl_seconds", 900) - SHORTER)
        token = {
            "token": f"apt_{secrets.token_hex(32)}",
            "token_id": str(len(self.tokens) + 1),
            "amount": str(amount),
            "currency": "AVT",
            "target_agent_did": payee,
            "expires_at": ends.isoformat(),
            "contract_id": None,
            "issuer": "http://127.0.0.1",
            "issuer_header": "X-Payment-Issuer",
        }
        self.tokens[token["token"]] = {**token, "caller_did": did, "status": "authorized", "ends": ends}
        if key is not None:
            self.keys[key] = body, token
        return token

    def verify(self, body: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(body.get("token"), str):
            raise Refused(422, "token is required")
        token = self.tokens.get(body["token"])
        if token is None:
            return {"valid": False, "status": None, "error": "Token not found"}
        self.expire(token)
        if token["status"] == "expired":
            return {"valid": False, "status": "expired", "error": "Token expired"}
        if token["status"] not in ("authorized", "consumed"):
            return {"valid": False, "status": None, "error": f"Token status: {token['status']}"}
        is_other = body.get("target_agent_did") not in (None, token["target_agent_did"])
        if is_other and "accepts_other_payee" not in self.defects:
            if "consumes_for_others" in self.defects:
                token["status"] = "consumed"
            return {"valid": False, "status": None, "error": "Token not issued for this agent"}
        token["status"] = "consumed"
        amount = str(Decimal(token["amount"]) * (2 if "states_more" in self.defects else 1))
        return {**self.shown(token), "valid": True, "amount": amount, "error": None}

    def settle(self, did: str, body: dict[str, Any]) -> dict[str, Any]:
        token = self.own(did, body)
        is_success = body.get("success", True)
        if token["status"] == "settled" and "pays_again" not in self.defects:
            return self.shown(token)
        open_ones = {"authorized", "consumed"}
        open_ones |= {"settled"} if "pays_again" in self.defects else set()
        open_ones |= {"released"} if "pays_released" in self.defects else set()
        if token["status"] not in open_ones:
            raise Refused(400, f"Token status: {token['status']}")
        if not is_success:
            token["status"] = "released"
            return self.shown(token)
        amount = Decimal(token["amount"]) * (2 if "pays_more" in self.defects else 1)
        self.balances[token["caller_did"]] -= amount
        self.balances[token["target_agent_did"]] += amount
        token |= {
            "status": "settled",
            "settlement_tx_id": token.get("settlement_tx_id", f"tx-{token['token_id']}"),
        }
        return self.shown(token)

    def release(self, did: str, body: dict[str, Any]) -> dict[str, Any]:
        token = self.own(did, body)
        if token["status"] != "authorized":
            raise Refused(400, f"Token status: {token['status']}")
        token["status"] = "released"
        return self.shown(token)

    def own(self, did: str, body: dict[str, Any]) -> dict[str, Any]:
        """The token of a request by its caller. Raises: Refused."""
        if not isinstance(body.get("token"), str):
            raise Refused(422, "token is required")
        token = self.tokens.get(body["token"])
        if token is None:
            raise Refused(404, "Token not found")
        if token["caller_did"] != did and "settles_for_others" not in self.defects:
            raise Refused(403, "the token is of another agent")
        self.expire(token)
        return token

    def expire(self, token: dict[str, Any]) -> None:
        is_over = token["ends"] <= datetime.now(UTC) and "accepts_expired" not in self.defects
        if is_over and token["status"] in ("authorized", "consumed"):
            token["status"] = "expired"

    def listed(self, did: str, query: dict[str, list[str]]) -> list[dict[str, Any]]:
        status = query.get("status", [None])[0]
        found = [self.shown(token) for token in self.tokens.values() if token["caller_did"] == did]
        chosen = [token for token in found if status in (None, token["status"])]
        return chosen[::-1][: int(query.get("limit", ["50"])[0])]

    @staticmethod
    def shown(token: dict[str, Any]) -> dict[str, Any]:
        return {"settlement_tx_id": None} | {
            name: value for name, value in token.items() if name not in ("token", "ends")
        }


class Routes(BaseHTTPRequestHandler):
    """HTTP routes of a book."""

    book: Book
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)

        def read() -> object:
            did = self.caller()
            if parts.path == "/api/v1/teg/balance":
                return {"agent_id": did, "balance": str(self.book.balances[did])}
            if parts.path == f"{PREFIX}my-tokens":
                return self.book.listed(did, parse_qs(parts.query))
            raise Refused(404, "no such route")

        self.reply(read)

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", "0")))

        def act() -> object:
            route = self.path.removeprefix(PREFIX)
            did = None if route == "verify" else self.caller()
            body = self.body(content)
            if route == "verify":
                return self.book.verify(body)
            if route == "authorize":
                return self.book.authorize(str(did), body, self.headers.get("Idempotency-Key"))
            if route == "settle":
                return self.book.settle(str(did), body)
            if route == "release":
                return self.book.release(str(did), body)
            raise Refused(404, "no such route")

        self.reply(act)

    def body(self, content: bytes) -> dict[str, Any]:
        try:
            body = json.loads(content)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise Refused(500 if "fails_on_bodies" in self.book.defects else 422, "the body is no object")
        return body

    def caller(self) -> str:
        did = TOKENS.get(self.headers.get("Authorization", "").removeprefix("Bearer "))
        if did is None:
            raise Refused(401, "a bearer token is required")
        return did

    def reply(self, act: Any) -> None:
        try:
            with self.book.lock:
                status, kind, said = 200, "application/json", act()
        except Refused as error:
            status, kind = error.status, "application/problem+json"
            said = {"type": "about:blank", "status": error.status, "detail": error.detail}
        content = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def facilitator(*defects: str) -> Iterator[str]:
    """A facilitator with the defects; yields its address."""
    routes = type("RoutesOfBook", (Routes,), {"book": Book(frozenset(defects))})
    server = ThreadingHTTPServer(("127.0.0.1", 0), routes)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield "http://{}:{}".format(*server.server_address)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
