"""The order of events of the demo, and its verdict."""

import asyncio
import os
import secrets
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import httpx2
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from hansa.doors.demo.cards import demo_cards
from hansa.doors.demo.market import TRANSFERS, Tally, trade
from hansa.doors.demo.visitor import DemoAgent, DemoFailed, Visitor

DEVELOPERS = ("Ada", "Grace", "Edsger")
START_SECONDS = 60


async def run_demo(url: str | None, console: Console) -> dict[str, Any]:
    """Run the whole path against `url`, or against a registry of its own in a temporary directory.

    Returns the report. Raises: DemoFailed when anything does not go as specified or the books do not add up.
    """
    if url is not None:
        return await _visit(url.rstrip("/"), console)
    async with _registry_of_our_own(console) as own_url:
        return await _visit(own_url, console)


async def _visit(url: str, console: Console) -> dict[str, Any]:
    async with httpx2.AsyncClient(base_url=url, timeout=30, trust_env=False) as http:
        try:
            return await _tell(Visitor(http), url, console)
        except httpx2.HTTPError as trouble:
            raise DemoFailed(f"{url} cannot be reached: {type(trouble).__name__}") from trouble


async def _tell(visitor: Visitor, url: str, console: Console) -> dict[str, Any]:
    config = (await visitor.ask("GET", "/api/v1/public/registry-config")).json()
    unit = config["settlement_currency"]
    console.print(
        f"[bold]{config['registry_name']}[/bold] at {url}, trust domain {config['trust_domain']}, unit {unit}"
    )
    agents = await _populate(visitor, config["did_method"], console)
    await _find(visitor, agents[0], console)
    tally = Tally({agent.did: Decimal(await visitor.balance(agent)) for agent in agents})
    await _trade_with_progress(visitor, agents, tally, console)
    report = await _verdict(visitor, agents, tally)
    _show(report, unit, console)
    return report


async def _populate(visitor: Visitor, did_method: str, console: Console) -> list[DemoAgent]:
    """Three developers, five agents: the first of each developer gets the genesis grant."""
    run = secrets.token_hex(3)
    agents, tokens = [], []
    for name in DEVELOPERS:
        email, password = f"{name.lower()}-{run}@example.com", "Demo-" + secrets.token_urlsafe(12) + "-9a!"
        tokens.append(await visitor.join(f"{name} {run}", email, password))
        console.print(f"  registered and logged in: {name}")
    for number, card in enumerate(demo_cards(run)):
        agent = await visitor.create_agent(tokens[number % len(tokens)], did_method, card)
        agents.append(agent)
        console.print(f"  agent {agent.name:<18} {agent.did}  (grant: {agent.funding})", soft_wrap=True)
    return agents


async def _find(visitor: Visitor, agent: DemoAgent, console: Console) -> None:
    """Discover the agent and read its card by each of its four names."""
    found = (await visitor.ask("GET", "/api/v1/discover", params={"query": agent.name})).json()
    if agent.did not in [result["did"] for result in found["results"]]:
        raise DemoFailed(f"{agent.name} is not discovered")
    card = (await visitor.ask("GET", f"/api/v1/agent-cards/{agent.did}")).json()
    for path in (card["id"], card["card_id"], f"id/{card['human_readable_id']}"):
        again = (await visitor.ask("GET", f"/api/v1/agent-cards/{path}")).json()
        if again["did"] != agent.did:
            raise DemoFailed(f"/agent-cards/{path} is another agent's card")
    console.print(
        f"  discovered {agent.name}; read its card by DID, UUID, integer and {card['human_readable_id']}"
    )


async def _trade_with_progress(
    visitor: Visitor, agents: list[DemoAgent], tally: Tally, console: Console
) -> None:
    columns = (TextColumn("  transfers"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("transfers", total=TRANSFERS)
        await trade(visitor, agents, tally, lambda: progress.advance(task))


async def _verdict(visitor: Visitor, agents: list[DemoAgent], tally: Tally) -> dict[str, Any]:
    balances = {agent.did: Decimal(await visitor.balance(agent)) for agent in agents}
    supply = (await visitor.ask("GET", "/api/v1/public/supply-invariant")).json()
    events = (await visitor.ask("GET", "/api/v1/public/eventstore-recent", params={"limit": 500})).json()
    if balances != tally.balances:
        raise DemoFailed("the balances are not what the answers to the transfers said")
    if supply["status"] != "OK" or supply["delta"] != "0":
        raise DemoFailed(f"the supply invariant says {supply['status']}, delta {supply['delta']}")
    if not any(event["event_type"] == "LedgerBalanceChanged" for event in events["events"]):
        raise DemoFailed("the transfers are not in the event store")
    return {
        "agents": [
            {"name": agent.name, "did": agent.did, "balance": f"{balances[agent.did]:f}"} for agent in agents
        ],
        "transfers": tally.done,
        "repeated": tally.repeated,
        "refused": tally.refused,
        "fees": f"{tally.fees:f}",
        "supply": supply,
    }


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
        f"{report['transfers']} transfers, {report['repeated']} of them sent twice and counted once, "
        f"{report['refused']} refused for want of funds, {report['fees']} {unit} in fees"
    )
    console.print(
        f"supply: issued {supply['tokens_issued']} - destroyed {supply['tokens_destroyed']}"
        f" = circulating {supply['total_circulating']}, delta {supply['delta']}: [bold green]{supply['status']}[/]"
    )


@asynccontextmanager
async def _registry_of_our_own(console: Console) -> AsyncIterator[str]:
    """A registry in a temporary directory on a free port, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="hansa-demo-") as directory:
        console.print("starting a registry in a temporary directory …")
        environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        process = await asyncio.create_subprocess_exec(
            *[sys.executable, "-m", "hansa.doors.operate", "serve", "--port=0", f"--data-dir={directory}"],
            stdout=asyncio.subprocess.PIPE,
            env={**environment, "LOG_LEVEL": "warning"},
        )
        assert process.stdout is not None
        try:
            async with asyncio.timeout(START_SECONDS):
                line = (await process.stdout.readline()).decode()
            if not line.startswith("ready "):
                raise DemoFailed("the registry did not start")
            yield line.removeprefix("ready ").strip()
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()
