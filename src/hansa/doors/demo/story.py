"""The steps of the demo in their order, and the verdict."""

import asyncio
import secrets
import socket
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from decimal import Decimal
from pathlib import Path
from time import monotonic
from typing import Any

import httpx2
import msgspec
from a2a.client.errors import A2AClientError
from msgspec.structs import replace
from rich.console import Console
from rich.table import Table

from hansa.doors.demo.achievements import show_achievements
from hansa.doors.demo.cards import DEMO_TAG, demo_cards
from hansa.doors.demo.client import DemoAgent, DemoClient, DemoDeveloper, DemoFailed
from hansa.doors.demo.contract import Parties, contract_of_two_milestones
from hansa.doors.demo.dispute import decide_a_dispute
from hansa.doors.demo.exchange import Exchange
from hansa.doors.demo.market import TRANSFERS, Tally, trade
from hansa.doors.demo.organization import DemoOrganization, end_organization, work_for_an_organization
from hansa.doors.demo.paid_call import THROUGH_TOOLS, Caller, pay_for_a_call
from hansa.doors.demo.removal import remove
from hansa.doors.demo.screen import Screen, Sleep
from hansa.doors.demo.second_owner import SecondOwner
from hansa.doors.demo.temporary_registry import Administrator, temporary_registry
from hansa.doors.verification.cards import cause_of
from hansa_client import HansaError

DEVELOPERS = ("Ada", "Grace", "Edsger")
STEPS = 12
# Cost of the paid calls, the contracts and the treasury together, with their fees, and some more.
UNITS_NEEDED = Decimal(8)
# Another process of the registry finds a new card within a second; a machine under load may take longer.
SETTLE_SECONDS = 180
SETTLE_PAUSE_SECONDS = 0.2
REQUEST_SECONDS = 60
PAID_CALL = "find a service and pay for a call"
CONTRACT = "carry out a contract of two milestones"
DISPUTE = "deposit a bond and decide a dispute"
ACHIEVEMENTS = "earn an achievement and show a flare"
ORGANIZATION = "found an organization and award its work"
EXCHANGE = "sell points of the organization, trade them and share its revenue"
Confirm = Callable[[str], bool]
"""Asks a question of the person at the terminal; returns whether the answer is yes."""


class Options(msgspec.Struct, frozen=True):
    """How the demo runs.

    `confirm` is asked before anything is written into a registry that has agents of others; without it nothing is asked.
    With `removes` the agents and accounts that the demo made are ended afterwards. Without an `administrator` no dispute is
    filed, because none would be decided, and no points are sold; a registry of the demo's own has one. `listener` is the place of the paid service: the
    AI client buys from it only if the registry may call that address. `mails` is the directory in which the registry writes mails:
    without it the organization has one owner. `directory` is that of a registry of the demo's own: without it no day passes.
    """

    confirm: Confirm | None = None
    removes: bool = False
    administrator: Administrator | None = None
    listener: socket.socket | None = None
    mails: Path | None = None
    directory: Path | None = None
    sleep: Sleep = asyncio.sleep


async def run_demo(url: str | None, console: Console, options: Options | None = None) -> dict[str, Any]:
    """Run every step against `url`, or against a registry of its own in a temporary directory.

    Returns the report. Raises: DemoFailed when anything does not go as specified, the books do not add up, or the
    confirmation is refused.
    """
    options = options or Options()
    screen = Screen(console, STEPS + options.removes, options.sleep)
    async with AsyncExitStack() as meanwhile:
        if url is None:
            console.print("starting a registry in a temporary directory")
            own = await meanwhile.enter_async_context(temporary_registry())
            url = own.url
            options = replace(
                options,
                administrator=own.administrator,
                listener=own.listener,
                mails=own.directory / "outbox",
                directory=own.directory,
            )
        url = url.rstrip("/")
        http = httpx2.AsyncClient(base_url=url, timeout=REQUEST_SECONDS, trust_env=False)
        await meanwhile.enter_async_context(http)
        try:
            return await _Demo(DemoClient(http, screen), screen, options).run(url)
        except httpx2.UnsupportedProtocol:
            raise DemoFailed(f"URL must start with http:// or https://, got {url!r}") from None
        except httpx2.ConnectError as error:
            raise DemoFailed(
                f"cannot connect to {http.base_url.netloc.decode()}: {cause_of(error)}"
            ) from error
        except httpx2.HTTPError as error:
            raise DemoFailed(f"the connection to {url} failed: {cause_of(error)}") from error


class _Demo:
    """One run."""

    def __init__(self, client: DemoClient, screen: Screen, options: Options) -> None:
        self._client = client
        self._screen = screen
        self._options = options
        # Keeps names and addresses apart from those of other runs on the same registry.
        self._run = secrets.token_hex(4)
        self._organization: DemoOrganization | None = None

    async def run(self, url: str) -> dict[str, Any]:
        config = await self._read_config(url)
        await self._confirm(url)
        self._screen.step(f"register {len(DEVELOPERS)} developers")
        developers = [await self._register(name) for name in DEVELOPERS]
        self._screen.step("create 5 agents")
        agents = await self._create_agents(developers, config["did_method"])
        self._screen.step("find an agent and read its card")
        await self._find(agents[0])
        self._screen.step(f"make {TRANSFERS} transfers")
        tally = Tally({agent.did: Decimal(await self._client.balance(agent)) for agent in agents})
        with self._screen.bar("transfers", TRANSFERS) as advance:
            await trade(self._client, agents, tally, advance)
        payees = await self._pay(url, agents, developers, tally)
        # The agent that keeps what is left when the others are ended is the last one.
        agents = [*agents[:-1], *payees, agents[-1]]
        self._screen.step("check every balance and the supply")
        report = await self._verdict(agents, tally)
        _show(report, config["settlement_currency"], self._screen.console)
        if self._options.removes:
            self._screen.step("remove the demo data")
            if self._organization is not None:
                await end_organization(url, self._organization)
            report["removed"] = await remove(self._client, self._screen, agents, developers)
        return report

    async def _read_config(self, url: str) -> dict[str, Any]:
        config: dict[str, Any] = (await self._client.ask("GET", "/api/v1/public/registry-config")).json()
        self._screen.console.print(
            f"[bold]{config['registry_name']}[/] at {url}, trust domain {config['trust_domain']}, "
            f"unit {config['settlement_currency']}"
        )
        if config["beta_invite_required"]:
            raise DemoFailed("this registry requires an invitation code; the demo has none")
        if config["email_verification_required"]:
            raise DemoFailed("this registry requires a verified e-mail address; the demo has none")
        return config

    async def _confirm(self, url: str) -> None:
        if self._options.confirm is None:
            return
        others = await agents_of_others(self._client)
        question = (
            f"{url} has {others} cards that are not from a demo. Create 3 developers and 6 agents in it?"
        )
        if others and not self._options.confirm(question):
            raise DemoFailed("cancelled; nothing was written")

    async def _register(self, name: str) -> DemoDeveloper:
        email = f"{name.lower()}-{self._run}@example.com"
        password = "Demo-" + secrets.token_urlsafe(12) + "-9a!"
        developer = await self._client.join(f"{name} {self._run}", email, password)
        self._screen.line(f"registered and logged in: {email}")
        return developer

    async def _create_agents(self, developers: list[DemoDeveloper], did_method: str) -> list[DemoAgent]:
        """The first agent of each developer gets the genesis grant."""
        agents = []
        for number, card in enumerate(demo_cards(self._run)):
            owner = developers[number % len(developers)]
            agent = await self._client.create_agent(owner, did_method, card)
            agents.append(agent)
            self._screen.line(f"{agent.name:<20} {agent.did}  (grant: {agent.funding})")
        return agents

    async def _find(self, agent: DemoAgent) -> None:
        """Discover the agent and read its card by each of its four identifiers."""

        async def is_found() -> bool:
            answer = await self._client.ask("GET", "/api/v1/discover", params={"query": agent.name})
            return agent.did in [result["did"] for result in answer.json()["results"]]

        await self._settled(is_found, f"{agent.name} is not found by /discover")
        card = (await self._client.ask("GET", f"/api/v1/agent-cards/{agent.did}")).json()
        for path in (card["id"], card["card_id"], f"id/{card['human_readable_id']}"):
            again = (await self._client.ask("GET", f"/api/v1/agent-cards/{path}")).json()
            if again["did"] != agent.did:
                raise DemoFailed(f"/agent-cards/{path} is another agent's card")
        self._screen.line(
            f"found {agent.name}; read its card by DID, UUID, integer and {card['human_readable_id']}"
        )

    async def _pay(
        self, url: str, agents: list[DemoAgent], developers: list[DemoDeveloper], tally: Tally
    ) -> list[DemoAgent]:
        """Paid calls, a contract, a dispute and an organization; returns the agents that were made for them."""
        by_balance = sorted(agents, key=lambda agent: tally.balances[agent.did], reverse=True)
        payer = by_balance[0]
        owner = next(developer for developer in developers if developer is not payer.owner)
        provider = next(agent for agent in by_balance if agent.owner is not payer.owner)
        if tally.balances[payer.did] < UNITS_NEEDED:
            for step in (PAID_CALL, THROUGH_TOOLS, CONTRACT, DISPUTE, ACHIEVEMENTS, ORGANIZATION, EXCHANGE):
                self._screen.step(step)
                self._screen.line(f"left out: no agent has {UNITS_NEEDED} units")
            return []
        try:
            self._screen.step(PAID_CALL)
            listener = self._options.listener or socket.create_server(("127.0.0.1", 0))
            caller = Caller(url, self._client, self._screen, payer, listener)
            service = await pay_for_a_call(caller, owner, tally, self._settled)
            self._screen.step(CONTRACT)
            parties = Parties(url, self._screen, payer, provider)
            await contract_of_two_milestones(parties, tally)
            self._screen.step(DISPUTE)
            await self._dispute(parties, tally)
            self._screen.step(ACHIEVEMENTS)
            await show_achievements(parties, tally, self._settled)
            self._screen.step(ORGANIZATION)
            others = [one for one in agents if one.owner is not payer.owner and one is not provider]
            third = next(one for one in developers if one is not payer.owner and one is not provider.owner)
            self._organization = await work_for_an_organization(
                parties, others, tally, self._second_owner(third)
            )
            self._screen.step(EXCHANGE)
            await self._sell_points(parties, self._organization, tally)
        except (HansaError, A2AClientError) as error:
            raise DemoFailed(str(error)) from error
        return [service]

    def _second_owner(self, developer: DemoDeveloper) -> SecondOwner | None:
        mails = self._options.mails
        return None if mails is None else SecondOwner(developer, mails, self._settled)

    async def _dispute(self, parties: Parties, tally: Tally) -> None:
        administrator = self._options.administrator
        if administrator is None:
            self._screen.line("left out: an administrator of this registry would have to rule")
            return
        await decide_a_dispute(administrator, parties, tally)

    async def _sell_points(self, parties: Parties, seller: DemoOrganization, tally: Tally) -> None:
        administrator = self._options.administrator
        if administrator is None:
            self._screen.line("left out: an administrator of this registry would have to approve the listing")
        elif self._options.removes:
            self._screen.line(
                "left out: an agent with points, and an organization with a listing, cannot be removed"
            )
        else:
            await Exchange(
                parties, seller, administrator, self._options.directory, self._settled
            ).sell_and_trade(tally)

    async def _verdict(self, agents: list[DemoAgent], tally: Tally) -> dict[str, Any]:
        balances = {agent.did: Decimal(await self._client.balance(agent)) for agent in agents}
        if balances != tally.balances:
            raise DemoFailed("the balances do not match the responses to the transfers")
        supply: dict[str, Any] = {}

        async def is_sound() -> bool:
            supply.update((await self._client.ask("GET", "/api/v1/public/supply-invariant")).json())
            return (supply["status"], supply["delta"]) == ("OK", "0")

        async def is_recorded() -> bool:
            path = "/api/v1/public/eventstore-recent"
            events = (await self._client.ask("GET", path, params={"limit": 500})).json()["events"]
            return tally.done == 0 or any(event["event_type"] == "LedgerBalanceChanged" for event in events)

        await self._settled(is_sound, "the supply invariant is not OK with delta 0")
        await self._settled(is_recorded, "the transfers are not in the event store")
        return {
            "agents": [
                {"name": agent.name, "did": agent.did, "balance": f"{balances[agent.did]:f}"}
                for agent in agents
            ],
            "transfers": tally.done,
            "repeated": tally.repeated,
            "refused": tally.refused,
            "payments": tally.payments,
            "flares": tally.flares,
            "fees": f"{tally.fees:f}",
            "supply": supply,
        }

    async def _settled(self, condition: Callable[[], Awaitable[bool]], otherwise: str) -> None:
        """Wait for a state that every process of a sound registry reaches within a second. Raises: DemoFailed."""
        deadline = monotonic() + SETTLE_SECONDS
        while not await condition():
            if monotonic() > deadline:
                raise DemoFailed(f"{otherwise} after {SETTLE_SECONDS} seconds")
            await self._options.sleep(SETTLE_PAUSE_SECONDS)


async def agents_of_others(client: DemoClient) -> int:
    """How many cards of this registry no demo made."""

    async def listed(**filters: str) -> int:
        params = {"origins": "local", "limit": "1", **filters}
        answer = await client.ask("GET", "/api/v1/agent-cards/discover", params=params)
        total: int = answer.json()["total"]
        return total

    return await listed() - await listed(tag=DEMO_TAG)


def _show(report: dict[str, Any], unit: str, console: Console) -> None:
    table = Table(title="Balances", title_justify="left")
    table.add_column("agent")
    table.add_column("DID", style="dim", overflow="fold")
    table.add_column(unit, justify="right")
    for agent in report["agents"]:
        table.add_row(agent["name"], agent["did"], agent["balance"])
    console.print(table)
    supply = report["supply"]
    console.print(
        f"{report['transfers']} transfers, {report['repeated']} of them sent twice and executed once, "
        f"{report['refused']} refused: insufficient funds; {report['payments']} payments of calls and milestones; "
        f"{report['fees']} {unit} in fees"
    )
    console.print(
        f"supply: issued {supply['tokens_issued']} - destroyed {supply['tokens_destroyed']}"
        f" = circulating {supply['total_circulating']}, delta {supply['delta']}: [bold green]{supply['status']}[/]"
    )
