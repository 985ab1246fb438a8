"""One agent as its page shows it: the registry's statements on it, and apart from them the owner's text.

How an agent is called, as lines to copy: for a shell with curl, the official Python client and a client of x402.

Every address comes from a card, so it is quoted for the language that it stands in.
"""

import json
import shlex
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import msgspec

from hansa.doors.console.badges import marks_of
from hansa.doors.console.prices import Price, price_of
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.money import format_amount
from hansa.foundation.values.web_address import dialled
from hansa.rooms import catalogue, commerce

SKILLS_SHOWN = 64
JSON_RPC, HTTP_JSON = "JSONRPC", "HTTP+JSON"
CALLED_BY_CURL = (JSON_RPC, HTTP_JSON)
TEXT = "Hello"
_MESSAGE = {"messageId": "hello-1", "role": "ROLE_USER", "parts": [{"text": TEXT}]}
_OLD_MESSAGE = {
    "kind": "message",
    "messageId": "hello-1",
    "role": "user",
    "parts": [{"kind": "text", "text": TEXT}],
}

_IMPORTS = """import asyncio

from a2a.client import ClientConfig, create_client"""
_PAID_IMPORTS = """import asyncio
import os

from a2a.client import ClientCallContext, ClientConfig, create_client"""
_PAYMENT = """    payment = ClientCallContext(service_parameters={{
        "X-Payment-Token": os.environ["PAYMENT_TOKEN"],
        "X-Payment-Issuer": {issuer},
    }})
"""
_PYTHON = """# pip install a2a-sdk
{imports}
from a2a.helpers import get_stream_response_text, new_text_message
from a2a.types import Role, SendMessageRequest


async def main():
{payment}    config = ClientConfig(streaming=False, supported_protocol_bindings=[{binding}])
    client = await create_client(
        {registry},
        config,
        relative_card_path={card},
    )
    message = new_text_message({text}, role=Role.ROLE_USER)
    async with client:
        request = SendMessageRequest(message=message)
        async for answer in client.send_message(request{context}):
            print(get_stream_response_text(answer))


asyncio.run(main())"""
_X402 = """# pip install "x402[httpx,evm]"; the wallet is bound to your agent
import asyncio
import os

from eth_account import Account
from x402 import x402Client
from x402.http.clients.httpx import x402HttpxClient
from x402.mechanisms.evm.exact import ExactEvmScheme

NETWORK, ASSET = {network}, {asset}


async def main():
    client = x402Client()
    client.register(NETWORK, ExactEvmScheme(Account.from_key(os.environ["WALLET_KEY"])))
    client.set_spend_controls({{"allowed_assets": [{{"network": NETWORK, "asset": ASSET}}]}})
    async with x402HttpxClient(client, timeout=60) as http:
        answer = await http.post({url}, json={body}, headers={headers})
        print(answer.text)


asyncio.run(main())"""


class Skill(msgspec.Struct, frozen=True):
    """A skill in its owner's words."""

    name: str
    description: str
    tags: list[str]
    examples: list[str]


class Interface(msgspec.Struct, frozen=True):
    """An address at which the agent is called; `url` is None where nobody can dial it."""

    url: str | None
    binding: str
    version: str

    @property
    def is_old(self) -> bool:
        return self.version.startswith("0.")

    @property
    def is_called_by_curl(self) -> bool:
        binding = self.binding.upper()
        # The bodies of HTTP+JSON before 1.0 are of another form than those of JSON-RPC.
        return self.url is not None and (binding == JSON_RPC or (binding == HTTP_JSON and not self.is_old))


class Snippet(msgspec.Struct, frozen=True):
    """Lines to copy, with the language they are in."""

    title: str
    code: str


class AgentPage(msgspec.Struct, frozen=True):
    """Content of the page of one agent."""

    card: catalogue.Card
    is_exported: bool
    path: str
    price: Price
    marks: list[str]
    version: str
    organization: Any
    organization_url: Any
    documentation_url: Any
    tags: list[str]
    skills: list[Skill]
    skills_left_out: int
    interfaces: list[Interface]
    snippets: list[Snippet]
    payment: list[Snippet]
    json_ld: dict[str, Any]

    @classmethod
    def of(cls, card: catalogue.Card, settings: Settings, *, is_exported: bool) -> "AgentPage":
        """The page of a card that was read with its document; `is_exported`: this registry exports it signed."""
        document = card.card_data or {}
        provider = _object(document.get("provider"))
        price = price_of(document, card.settlement_currency)
        interfaces = interfaces_of(document)
        path = path_of(card.did, card.card_id)
        skills = [_skill(skill) for skill in _objects(document.get("skills"))]
        return cls(
            card=card,
            is_exported=is_exported,
            path=path,
            price=price,
            marks=marks_of(
                card,
                is_verified=card.host_verified_at is not None or card.signature_verified_at is not None,
            ),
            version=_text(document.get("version")),
            organization=provider.get("organization"),
            organization_url=provider.get("url"),
            documentation_url=document.get("documentationUrl"),
            tags=_texts(document.get("tags")),
            skills=skills[:SKILLS_SHOWN],
            skills_left_out=max(0, len(skills) - SKILLS_SHOWN),
            interfaces=interfaces,
            snippets=list(
                snippets_of(
                    interfaces,
                    export_path=export_path_of(card.did) if card.did and is_exported else None,
                    is_paid=not price.is_free,
                    base_url=settings.base_url,
                )
            ),
            payment=_payment(card, price, interfaces, settings) if interfaces else [],
            json_ld=catalogue.agent_json_ld(card, settings.base_url + path),
        )

    @property
    def export_path(self) -> str | None:
        """Path of its signed card: here, or for a mirror under the address of its home; None without an agent."""
        return export_path_of(self.card.did) if self.card.did else None

    @property
    def is_bought_here(self) -> bool:
        """Return whether a person can buy a call of it in the browser."""
        return (
            self.card.did is not None
            and self.card.source_registry is None
            and self.card.status == "active"
            and not self.price.is_free
        )

    @property
    def bond(self) -> str | None:
        """The reputation bond of an agent of this registry in words, or None without one."""
        card = self.card
        if card.bond_state is None or card.bond_amount is None:
            return None
        return f"{format_amount(card.bond_amount)} {card.settlement_currency}, {card.bond_state}"

    @property
    def is_for_search_engines(self) -> bool:
        """Return whether anyone who looks for agents may find this page."""
        return self.card.status == "active" and self.card.is_active and not self.card.unlisted


def path_of(did: str | None, card_id: int) -> str:
    """Return the path of a card's page: under the DID of its agent, under the number of the card where it has none."""
    return f"/agents/{quote(did, safe=':') if did else card_id}"


def export_path_of(did: str) -> str:
    """Return the path at which the registry of an agent serves its signed card."""
    return f"/api/v1/agents/{quote(did, safe=':')}/card-export"


def _skill(skill: dict[str, Any]) -> Skill:
    return Skill(
        name=_text(skill.get("name")),
        description=_text(skill.get("description")),
        tags=_texts(skill.get("tags")),
        examples=_texts(skill.get("examples")),
    )


def _payment(
    card: catalogue.Card, price: Price, interfaces: list[Interface], settings: Settings
) -> list[Snippet]:
    """How a call is paid, where the price is one amount of this registry's unit and the payee is an agent of this registry."""
    is_payable = (
        card.did is not None and card.source_registry is None and price.unit == settings.settlement_currency
    )
    if card.did is None or not is_payable or price.is_free or price.amount is None:
        return []
    networks = commerce.Networks.of(settings)
    return [
        *payment_steps(card.did, price.amount, settings.base_url),
        *wallet_step(interfaces, networks.wallet, networks.asset),
    ]


# A mirrored card was judged by another registry: its members may be of any kind.
def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def interfaces_of(card: dict[str, Any]) -> list[Interface]:
    """The addresses of the card, in its owner's order."""
    listed = card.get("supportedInterfaces")
    return [
        Interface(
            dialled(one.get("url")),
            str(one.get("protocolBinding", JSON_RPC)),
            str(one.get("protocolVersion", "1.0")),
        )
        for one in (listed if isinstance(listed, list) else [])
        if isinstance(one, dict)
    ]


def snippets_of(
    interfaces: list[Interface], *, export_path: str | None, is_paid: bool, base_url: str
) -> Iterator[Snippet]:
    """How to call the agent; nothing where no usual client can.

    The Python client reads the card that this registry exports at `export_path`; None: it exports none.
    """
    best = _best(interfaces)
    if best is None:
        return
    yield Snippet("curl", _curl(best, is_paid=is_paid, base_url=base_url))
    if export_path is not None:
        yield Snippet(
            "Python", _python(export_path, best.binding.upper(), is_paid=is_paid, base_url=base_url)
        )


def payment_steps(did: str, amount: str, base_url: str) -> list[Snippet]:
    """How a call is paid: the whole of it with the client, or its steps before and after the call with curl."""
    body = json.dumps({"target_agent_did": did, "amount": amount})
    post = "curl -sS --fail-with-body -H \"Authorization: Bearer $AGENT_TOKEN\" -H 'Content-Type: application/json'"
    authorize = (
        f"{post} \\\n  {shlex.quote(base_url + '/api/v1/a2a-payment/authorize')} -d {shlex.quote(body)}"
    )
    read = "python3 -c 'import json, sys; print(json.load(sys.stdin)[\"token\"])'"
    settle = f'{post} \\\n  {shlex.quote(base_url + "/api/v1/a2a-payment/settle")} -d "{{\\"token\\": \\"$PAYMENT_TOKEN\\"}}"'
    return [
        Snippet(
            "With the client",
            f"pip install hansa-client\nhansa-client pay {shlex.quote(did)} {TEXT} --max-amount {shlex.quote(amount)}",
        ),
        Snippet(
            "Before the call: get a payment token", f"export PAYMENT_TOKEN=$({authorize} \\\n  | {read})"
        ),
        Snippet("After the answer: settle", settle),
    ]


def wallet_step(interfaces: list[Interface], network: str, asset: str) -> Iterator[Snippet]:
    """How a call is paid by a wallet with a stock client of x402, on the wallet network of this registry."""
    best = _best(interfaces)
    if best is None:
        return
    url, headers, body = _call(best)
    parts = {"network": network, "asset": asset, "url": url, "body": body, "headers": headers}
    yield Snippet(
        "With a wallet, where the service accepts x402",
        _X402.format(**{name: json.dumps(part) for name, part in parts.items()}),
    )


def _best(interfaces: list[Interface]) -> Interface | None:
    # A client that reads the card takes JSON-RPC where it is offered.
    usable = [one for one in interfaces if one.is_called_by_curl]
    return min(usable, key=lambda one: CALLED_BY_CURL.index(one.binding.upper()), default=None)


def _call(interface: Interface) -> tuple[str, dict[str, str], dict[str, Any]]:
    """Address, headers and body of a call."""
    assert interface.url is not None
    url, headers = interface.url, {} if interface.is_old else {"A2A-Version": "1.0"}
    body: dict[str, Any] = {"message": _OLD_MESSAGE if interface.is_old else _MESSAGE}
    if interface.binding.upper() == JSON_RPC:
        method = "message/send" if interface.is_old else "SendMessage"
        return url, headers, {"jsonrpc": "2.0", "id": 1, "method": method, "params": body}
    return f"{url.rstrip('/')}/message:send", headers, body


def _curl(interface: Interface, *, is_paid: bool, base_url: str) -> str:
    url, headers, body = _call(interface)
    lines = [f"curl -sSw '\\n' {shlex.quote(url)}", "  -H 'Content-Type: application/json'"]
    lines += [f"  -H '{name}: {value}'" for name, value in headers.items()]
    if is_paid:
        lines.append('  -H "X-Payment-Token: $PAYMENT_TOKEN"')
        lines.append(f"  -H {shlex.quote('X-Payment-Issuer: ' + base_url)}")
    lines.append(f"  -d {shlex.quote(json.dumps(body))}")
    return " \\\n".join(lines)


def _python(export_path: str, binding: str, *, is_paid: bool, base_url: str) -> str:
    # The card comes from this registry: what is called is what it lists.
    return _PYTHON.format(
        imports=_PAID_IMPORTS if is_paid else _IMPORTS,
        payment=_PAYMENT.format(issuer=json.dumps(base_url)) if is_paid else "",
        registry=json.dumps(base_url),
        binding=json.dumps(binding),
        card=json.dumps(export_path),
        text=json.dumps(TEXT),
        context=", context=payment" if is_paid else "",
    )
