"""The steps of the demo of a federation in their order, and the verdict.

A paid call whose service is at another registry: the token is of the caller's, the units cross when it is settled.
"""

import asyncio
import logging
import secrets
import socket
import tempfile
from decimal import Decimal
from pathlib import Path
from time import monotonic
from typing import Any

import httpx2
import msgspec
from rich.console import Console
from rich.table import Table

from hansa.doors.demo.cards import demo_cards
from hansa.doors.demo.client import CREATED, OK, DemoAgent, DemoFailed
from hansa.doors.demo.echo_service import EchoService, listening
from hansa.doors.demo.federation import several_currencies
from hansa.doors.demo.federation.registries import DemoRegistry, three_registries, until
from hansa.doors.demo.federation.several_currencies import Party
from hansa.doors.demo.paid_call import registry_of
from hansa.doors.demo.screen import Screen
from hansa_client import AgentCredentials, HansaError
from hansa_client.service import PaidService

STEPS = 10
TRANSFERS = 12
AMOUNT = Decimal("1.5")
LOCKED = "locked"
DOUBT = {"reserved", "prepared", "in_doubt"}
PRICE = "0.05"
TEXT = "good morning"


async def run_federation_demo(console: Console) -> dict[str, Any]:
    """Carry the demo out; returns the report of its counts. Raises: DemoFailed."""
    screen = Screen(console, STEPS)
    begun = monotonic()
    with tempfile.TemporaryDirectory(prefix="hansa-federation-") as directory:
        screen.step("start three registries, each with its own database, keys and authority")
        async with three_registries(Path(directory), screen) as registries:
            for registry in registries:
                screen.line(f"{registry.name:<6} {registry.url}  trust domain {registry.name}.example")
            try:
                report = await _Story(screen, *registries).report()
            except (HansaError, httpx2.HTTPError) as error:
                raise DemoFailed(str(error)) from error
    report["seconds"] = round(monotonic() - begun, 1)
    _show(report, console)
    return report


class _Story:
    """One run."""

    def __init__(self, screen: Screen, north: DemoRegistry, south: DemoRegistry, west: DemoRegistry) -> None:
        self._screen = screen
        self._north, self._south, self._west = north, south, west
        self._all = (north, south, west)
        self._run = secrets.token_hex(3)
        self._expected: dict[str, Decimal] = {}
        self._homes: dict[str, tuple[DemoRegistry, DemoAgent]] = {}

    async def report(self) -> dict[str, Any]:
        """All steps; the report. Raises: DemoFailed."""
        self._screen.step("make each two of them peers by an invitation")
        await self._join()
        self._screen.step("create agents, and find those of the other registries")
        payer, service, payee = await self._agents()
        self._screen.step("pay for a call of an agent of another registry")
        received = await pay_across(self._screen, self._north, payer, self._south, service)
        self._expected[payer.did] -= received.amount
        self._expected[service.did] += received.net
        self._screen.step("suspend an agent; its suspension arrives at the peers")
        seconds = await self._suspend(service)
        self._screen.step("kill a registry in the middle of money")
        committed = await self._kill(payer, service)
        across = await self._several_currencies(payer, service, payee, received.token_id)
        self._screen.step("check every balance, every supply, and the audit across")
        report = await self._verdict()
        return {**report, **across, "suspension_seconds": seconds, "committed_after_kill": committed}

    async def _join(self) -> None:
        await asyncio.gather(*(home.appoint() for home in self._all))
        for inviting, accepting in (
            (self._north, self._south),
            (self._south, self._west),
            (self._west, self._north),
        ):
            path = "/admin/federation/invitations"
            invited = await inviting.administer("POST", path, {}, expect=CREATED)
            body = {"invitation": invited["invitation"]}
            peer = await accepting.administer("POST", f"{path}/accept", body, expect=CREATED)
            self._screen.line(f"{accepting.name} accepted the invitation of {peer['name']}: {peer['status']}")

        async def are_all_active() -> bool:
            rosters = [
                (await one.client.ask("GET", "/api/v1/federation/peers")).json()["peers"] for one in self._all
            ]
            others = len(self._all) - 1
            return all([peer["status"] for peer in roster] == ["active"] * others for roster in rosters)

        await until(are_all_active, "the registries are not peers of each other")

    async def _agents(self) -> tuple[DemoAgent, DemoAgent, DemoAgent]:
        cards = demo_cards(self._run)
        payer, service, payee = await asyncio.gather(
            *(self._agent(home, card) for home, card in zip(self._all, cards, strict=False))
        )
        for name in (service.name, payee.name):
            await until(lambda name=name: self._is_found(name), f"{name} is not found at north")  # type: ignore[misc]
            self._screen.line(f"north finds {name}")
        return payer, service, payee

    async def _agent(self, home: DemoRegistry, card: dict[str, Any]) -> DemoAgent:
        password = "Demo-" + secrets.token_urlsafe(12) + "-9a!"
        owner = await home.client.join(f"Owner {home.name}", f"{home.name}@example.com", password)
        agent = await home.client.create_agent(owner, "hansa", card)
        self._expected[agent.did] = Decimal(await home.client.balance(agent))
        self._homes[agent.did] = (home, agent)
        self._screen.line(f"{home.name:<6} {agent.name:<20} {agent.did}")
        return agent

    async def _is_found(self, name: str) -> bool:
        answer = await self._north.client.ask("GET", "/api/v1/discover", params={"query": name})
        return name in [result["name"] for result in answer.json()["results"]]

    async def _suspend(self, agent: DemoAgent) -> float:
        async def act(name: str) -> None:
            body = {"agent_dids": [agent.did], "reason": "The demo shows it."}
            await self._south.administer("POST", f"/admin/agents/bulk/{name}", body)

        async def is_seen_as(status: str) -> bool:
            cards = [
                (await one.client.ask("GET", f"/api/v1/agent-cards/{agent.did}")).json()
                for one in (self._north, self._west)
            ]
            return [card["status"] for card in cards] == [status] * len(cards)

        begun = monotonic()
        await act("suspend")

        await until(lambda: is_seen_as("suspended"), "the suspension did not arrive")
        seconds = round(monotonic() - begun, 1)
        self._screen.line(f"{agent.name} is suspended at north and west {seconds} s later")

        async def is_receipted() -> bool:
            path = f"/api/v1/agents/{agent.did}/enforcement-receipts"
            items = (await self._south.client.ask("GET", path)).json()["items"]
            return sum(item["receipt"] is not None for item in items) == len(self._all) - 1

        await until(is_receipted, "the peers have not signed receipts")
        self._screen.line("both peers signed a receipt of it")
        await act("reinstate")
        await until(lambda: is_seen_as("active"), "the reinstatement did not arrive")
        return seconds

    async def _kill(self, payer: DemoAgent, payee: DemoAgent) -> int:
        client = self._north.client

        async def send(number: int) -> str:
            body = {
                "receiver_did": payee.did,
                "amount": str(AMOUNT),
                "message": f"demo {number}",
                "backend": "async",
            }
            answer = await client.send("/api/v1/teg/cross-registry-transfer", body, payer.headers)
            if answer.json().get("status") != LOCKED:
                raise DemoFailed(f"a transfer to another registry returned {answer.text[:300]}")
            transfer_id: str = answer.json()["transfer_id"]
            return transfer_id

        ids = await asyncio.gather(*(send(number) for number in range(TRANSFERS)))
        await self._north.kill()
        self._screen.line(f"{TRANSFERS} transfers of {AMOUNT} were reserved at north; north was killed")
        await self._north.start()
        self._screen.line("north serves again")
        states = {transfer: await self._decided(payer, transfer) for transfer in ids}
        committed = [one for one in states.values() if one["state"] == "committed"]
        self._expected[payer.did] -= sum((Decimal(one["amount"]) for one in committed), Decimal())
        self._expected[payee.did] += sum((Decimal(one["amount_received"]) for one in committed), Decimal())
        self._screen.line(
            f"{len(committed)} were committed, {len(ids) - len(committed)} aborted and returned"
        )
        return len(committed)

    async def _several_currencies(
        self, payer: DemoAgent, service: DemoAgent, payee: DemoAgent, token_id: str
    ) -> dict[str, str]:
        north, south, west = (
            Party(home, agent) for home, agent in zip(self._all, (payer, service, payee), strict=True)
        )
        self._screen.step("pay an agent of a registry with another currency")
        received = await several_currencies.swap(self._screen, north, west)
        self._expected[payer.did] -= Decimal(several_currencies.SWAPPED)
        self._expected[payee.did] += received
        self._screen.step("move units over the bridge, and back")
        await several_currencies.bridge_and_back(self._screen, north, south)
        self._screen.step("slash an agent of another registry")
        await several_currencies.slash_across(self._screen, north, south, token_id)
        self._expected[service.did] -= Decimal(several_currencies.SLASHED)
        self._expected[payer.did] += Decimal(several_currencies.COMPENSATED)
        return {
            "received_by_swap": f"{received:f}",
            "bridged_and_back": several_currencies.BRIDGED,
            "slashed": several_currencies.SLASHED,
            "compensated": several_currencies.COMPENSATED,
        }

    async def _decided(self, payer: DemoAgent, transfer_id: str) -> dict[str, Any]:
        found: dict[str, Any] = {}

        async def is_decided() -> bool:
            answer = await self._north.client.ask(
                "GET", f"/api/v1/teg/transfers/{transfer_id}", headers=payer.headers
            )
            found.update(answer.json())
            is_credited = found["credited_at"] is not None or found["state"] == "aborted"
            return found["state"] not in DOUBT and is_credited

        await until(is_decided, "a transfer is not decided")
        return found

    async def _verdict(self) -> dict[str, Any]:
        balances = {}
        for did, (home, agent) in self._homes.items():
            balances[did] = Decimal(await home.client.balance(agent))
        if balances != self._expected:
            raise DemoFailed(f"the balances are {balances}, and not {self._expected}")
        supplies: dict[str, Any] = {}
        pairs: dict[str, Any] = {}

        async def do_the_books_agree() -> bool:
            for one in self._all:
                path = "/api/v1/public/supply-invariant"
                supplies[one.name] = (await one.client.ask("GET", path)).json()
                pairs[one.name] = (await one.internal("/api/v1/projections/cross-frame-audit"))["pairs"]
            sound = all((one["status"], one["delta"]) == ("OK", "0") for one in supplies.values())
            quiet = all(
                (pair["delta"], pair["in_flight"], pair["disputed"]) == ("0", "0", "0")
                for listed in pairs.values()
                for pair in listed
            )
            return sound and quiet and do_agree(pairs)

        await until(do_the_books_agree, "the books of the registries do not agree")
        doubts = await asyncio.gather(*(one.command("transfers", "in-doubt") for one in self._all))
        if any(doubt["transfers"] for doubt in doubts):
            raise DemoFailed(f"transfers are in doubt: {doubts}")
        return {
            "agents": [
                {"name": agent.name, "registry": home.name, "balance": f"{balances[did]:f}"}
                for did, (home, agent) in self._homes.items()
            ],
            "supplies": supplies,
            "pairs": pairs,
        }


def do_agree(pairs: dict[str, list[dict[str, Any]]]) -> bool:
    """Return whether the units that one registry states to have sent are those that the other states to have received."""
    declared = {
        (name, pair["peer"], pair["currency"]): (pair["out"], pair["in"])
        for name, listed in pairs.items()
        for pair in listed
        if (pair["out"], pair["in"]) != ("0", "0")
    }
    return all(
        declared.get((peer, name, currency)) == (received, sent)
        for (name, peer, currency), (sent, received) in declared.items()
    )


def _show(report: dict[str, Any], console: Console) -> None:
    table = Table(title="What crossed", title_justify="left")
    for column in ("registry", "peer", "currency"):
        table.add_column(column)
    for column in ("sent", "received", "under way", "delta"):
        table.add_column(column, justify="right")
    for name, pairs in report["pairs"].items():
        for pair in pairs:
            table.add_row(
                name,
                pair["peer"],
                pair["currency"],
                pair["out"],
                pair["in"],
                pair["in_flight"],
                pair["delta"],
            )
    console.print(table)
    for name, supply in report["supplies"].items():
        console.print(f"supply of {name}: delta {supply['delta']}: [bold green]{supply['status']}[/]")
    console.print(f"the books agree; {report['seconds']} s")


class Received(msgspec.Struct, frozen=True):
    """Amount that the payer paid, amount that the payee got, and the token that was settled."""

    amount: Decimal
    net: Decimal
    token_id: str


async def pay_across(
    screen: Screen, home: DemoRegistry, payer: DemoAgent, abroad: DemoRegistry, service: DemoAgent
) -> Received:
    """Serve the agent `service` and call it as `payer`. Raises: DemoFailed, HansaError."""
    logging.getLogger("hansa_client").setLevel(logging.ERROR)
    with socket.create_server(("127.0.0.1", 0)) as listener, tempfile.TemporaryDirectory() as directory:
        paid = PaidService(
            agent_did=service.did,
            registry_url=abroad.url,
            credentials=AgentCredentials(service.client_id, service.client_secret),
            price=PRICE,
            trusted_registries=[home.url],
            accept_caller_capture=[home.url],
            store=Path(directory) / "paid-calls.db",
        )
        echo = EchoService()
        async with registry_of(home.url, payer) as registry, listening(paid.a2a(echo), listener):
            quoted = await registry.payments.quote(service.did, amount=PRICE)
            screen.line(
                f"{quoted.amount} {quoted.currency}, of which the service gets {quoted.amount_received}"
            )
            token = await registry.payments.authorize(service.did, PRICE)
            await _call(f"http://127.0.0.1:{listener.getsockname()[1]}/a2a", token.token, home.url)
            screen.line(f"{abroad.name} verified the token at {home.name}, and the service worked once")
            settled = await registry.payments.settle(token.token)
            if settled.status != "settled" or echo.texts != [TEXT]:
                raise DemoFailed(f"the token is {settled.status}, the service worked on {echo.texts}")
            screen.line(f"settled by the transfer {settled.settlement_tx_id}")
            assert quoted.amount_received is not None
            return Received(settled.amount, quoted.amount_received, token.token_id)


async def _call(url: str, token: str, issuer: str) -> None:
    message = {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": TEXT}]}
    body = {"jsonrpc": "2.0", "id": "1", "method": "SendMessage", "params": {"message": message}}
    headers = {"X-Payment-Token": token, "X-Payment-Issuer": issuer, "A2A-Version": "1.0"}
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as http:
        answer = await http.post(url, json=body, headers=headers)
    if answer.status_code != OK or f"echo {TEXT}" not in answer.text:
        raise DemoFailed(f"the service answered {answer.status_code}: {answer.text[:300]}")
