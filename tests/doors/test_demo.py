"""`hansa demo` succeeds on every sound registry, shows its steps, and can remove the objects that it made."""

import asyncio
import socket
from datetime import timedelta
from io import StringIO
from typing import Any

import httpx2
import pytest
from rich.console import Console

from hansa.doors.assembly import ASSEMBLY
from hansa.doors.demo import DemoFailed, Options, run_demo
from hansa.doors.demo.client import DemoClient
from hansa.doors.demo.screen import Screen
from hansa.doors.demo.story import Confirm
from hansa.doors.demo.temporary_registry import Administrator
from hansa.rooms.catalogue import SearchQuery, discover
from hansa.rooms.catalogue.search import SEARCHER
from hansa.rooms.exchange import ROOM as EXCHANGE
from tests.achieving import count
from tests.doors.served import served
from tests.registry import PASSWORD, StartRegistry, TestRegistry
from tests.running_jobs import run_due, time_passes, working

LAUNCH_SECONDS = 10
QUEUED = [kind for kind in ASSEMBLY.jobs if kind.every_seconds is None]


def console(*, is_terminal: bool = False) -> Console:
    return Console(file=StringIO(), width=200, force_terminal=is_terminal, highlight=False)


def printed(to: Console) -> str:
    assert isinstance(to.file, StringIO)
    return to.file.getvalue()


async def demo(
    registry: TestRegistry, to: Console | None = None, options: Options | None = None
) -> dict[str, object]:
    return await run_demo(registry.settings.base_url, to or console(), options)


async def forget_limits(registry: TestRegistry) -> None:
    await registry.database.transaction(lambda tx: tx.execute("DELETE FROM plumbing_rate_limit"))


async def test_each_step_is_printed_and_the_bar_advances_and_agents_of_others_are_met_after_a_yes_alone(
    start_registry: StartRegistry,
):
    """One registry and two runs: the second one meets an agent of somebody else, and the rate limits that the first one used."""
    questions: list[str] = []

    def refuse(question: str) -> bool:
        questions.append(question)
        return False

    to, again = console(), console()
    waited: list[float] = []
    # The service that the AI client buys from listens at an address that this registry may call.
    listener = socket.create_server(("127.0.0.1", 0))
    place = "{}:{}".format(*listener.getsockname())
    async with served(start_registry, outgoing_allow_user_hosts=place) as registry:
        async with working(registry.runtime, *QUEUED):
            report = await demo(registry, to, Options(confirm=refuse, listener=listener))
        assert questions == [], "there are no agents of others"
        assert_shown_step_by_step(printed(to), report)
        await demo_refused(registry, refuse)
        assert "has 1 cards that are not from a demo" in questions[0]

        async def sleep(seconds: float) -> None:
            waited.append(seconds)
            if len(waited) % 12 == 0:
                await forget_limits(registry)

        # Three registrations and six agents in each run: the limits of a minute are 5 and 10.
        await demo(registry, again, Options(confirm=lambda _: True, sleep=sleep))
        assert await developers(registry) == 7
    assert "left out: this registry calls no service on this machine" in printed(again)
    assert len(waited) >= 12
    assert "rate limit, POST /api/v1/auth/register: retry in " in printed(again)


def assert_shown_step_by_step(text: str, report: dict[str, object]) -> None:
    steps = [f"{number}/12" for number in range(1, 13)]
    assert [line.split(" ")[0] for line in text.splitlines() if "/12 " in line[:6]] == steps
    for line in (
        "transfers: 50 of 200",
        "transfers: 200 of 200",
        'the repeated call got it: "echo good morning"',
        "worked on once, paid once",
        "connected to /mcp with an agent's credentials: ",
        "the preview costs nothing: 0.0502",
        'bought a call for 0.05: "echo good evening"; the repeated payment moved nothing',
        'ran a pipeline of two paid steps for 0.1 of its budget 1: "echo echo good night"',
        "Final version: submitted",
        "the team crew paid 0.25 within its budget of 0.5 a month",
        "won for 0.9",
        "0.9 paid; the rest returned to the treasury",
        "no second owner: the mail with the invitation is not the demo's to read",
        "left out: an administrator of this registry would have to rule",
        "left out: an administrator of this registry would have to approve the listing",
    ):
        assert line in text
    assert report["payments"] == 6
    assert report["supply"]["status"] == "OK"  # type: ignore[index]


async def demo_refused(registry: TestRegistry, refuse: Confirm) -> None:
    """With an agent of somebody else there, a no writes nothing."""
    await registry.agent(name="Somebody's own")
    await registry.indexed()
    with pytest.raises(DemoFailed, match="nothing was written"):
        await demo(registry, options=Options(confirm=refuse))
    assert await developers(registry) == 4


async def test_a_rate_limit_is_counted_down_on_a_terminal(start_registry: StartRegistry):
    to = console(is_terminal=True)
    waited: list[float] = []
    async with served(start_registry) as registry:

        async def sleep(seconds: float) -> None:
            waited.append(seconds)
            if len(waited) == 12:
                await forget_limits(registry)

        async with httpx2.AsyncClient(base_url=registry.settings.base_url, trust_env=False) as http:
            client = DemoClient(http, Screen(to, 8, sleep))
            for number in range(6):
                await client.join(f"Ada {number}", f"ada-{number}@example.com", PASSWORD)
    assert len(waited) >= 12
    assert "rate limit, POST /api/v1/auth/register: retry in " in printed(to)


async def with_administrator(registry: TestRegistry, **options: object) -> Options:
    made = await registry.administrator("admin_enforcement", "admin_platform")
    return Options(administrator=Administrator(made.email, PASSWORD), **options)  # type: ignore[arg-type]


async def test_a_dispute_is_decided_two_owners_pay_together_and_what_the_demo_made_is_removed(
    start_registry: StartRegistry,
):
    to = console()
    async with (
        served(start_registry, bond_minimum="1") as registry,
        working(registry.runtime, *QUEUED),
    ):
        mails = registry.settings.data_dir / "outbox"

        async def sleep(seconds: float) -> None:
            """The bond is counted as an achievement while the demo waits for it."""
            await count(registry)
            await asyncio.sleep(seconds)

        options = await with_administrator(registry, removes=True, mails=mails, sleep=sleep)
        report = await demo(registry, to, options)
        for line in (
            "joined by the token of the mail, and is the second owner",
            "a payment of 0.3, over 0.1, waited for ",
            "deposited a bond of 1",
            "both sides gave evidence",
            "ruling IN_FAVOR_OF_COMPLAINANT: the contractor's units returned, 1 of the bond destroyed",
            "left out: an agent with points, and an organization with a listing, cannot be removed",
        ):
            assert line in printed(to)
        assert report["supply"]["tokens_destroyed"] == "1"  # type: ignore[index]
        removed = report["removed"]
        assert len(removed["agents"]) == 5  # type: ignore[index]
        assert (await discover(SEARCHER.of(registry.runtime), registry.database, SearchQuery())).total == 0
        supply = await registry.supply()
        assert (supply["status"], supply["delta"]) == ("OK", "0")
        kept = removed["kept"]["balance"]  # type: ignore[index]
        assert float(kept) > 290, "three grants of 100 units less fees and the bond"


async def test_points_of_the_organization_are_sold_in_a_launch_and_traded(start_registry: StartRegistry):
    to = console()
    async with (
        served(start_registry, exchange_enabled=True) as registry,
        working(registry.runtime, *QUEUED),
    ):

        async def sleep(_: float) -> None:
            """The launch opens, and closes, while the demo waits for it."""
            await registry.database.transaction(_let_launches_pass)
            await time_passes(registry.runtime, LAUNCH_SECONDS)
            await run_due(registry.runtime, *EXCHANGE.jobs)

        mails = registry.settings.data_dir / "outbox"
        report = await demo(registry, to, await with_administrator(registry, sleep=sleep, mails=mails))
        for line in (
            "was approved: 40 points at 0.1, its terms are final",
            "subscribed to 20 points; an agent of the founder may not",
            "the launch closed: 20 points sold for 2.0, trade is open",
            "3 trades moved 11 points, the last at 0.12; 2 orders cancelled, no units held",
        ):
            assert line in printed(to)
        assert report["supply"]["status"] == "OK"  # type: ignore[index]


async def _let_launches_pass(tx: Any) -> None:
    # The terms of a listing are final for everybody else.
    await tx.execute("SET LOCAL session_replication_role = replica")
    await tx.execute(
        "UPDATE exchange_listing SET opens_at = opens_at - $1::interval, closes_at = closes_at - $1::interval",
        timedelta(seconds=LAUNCH_SECONDS),
    )


async def test_no_dispute_is_filed_without_a_bond_and_the_search_is_repeated_until_the_index_has_followed(
    start_registry: StartRegistry,
):
    to = console()
    async with served(start_registry, bond_minimum="10000") as registry:
        searcher = SEARCHER.of(registry.runtime)
        pauses = 0
        # While this lock is held the index stays as it is, as in another process that has not followed yet.
        await searcher._turn.acquire()

        async def sleep(_: float) -> None:
            nonlocal pauses
            pauses += 1
            if pauses == 3:
                searcher._turn.release()
                await searcher.catch_up()

        await demo(registry, to, await with_administrator(registry, sleep=sleep))
        assert pauses == 3
        disputes = await registry.database.query(
            lambda tx: tx.fetchval("SELECT count(*) FROM commerce_dispute")
        )
    assert "left out: a bond is at least 10000" in printed(to)
    assert "left out: the exchange of this registry is off" in printed(to)
    assert disputes == 0


async def test_where_no_agent_has_units_nothing_is_paid(start_registry: StartRegistry):
    to = console()
    async with served(start_registry, genesis_grant_enabled=False) as registry:
        report = await demo(registry, to)
    assert printed(to).count("left out: no agent has 8 units") == 7
    assert (report["transfers"], report["payments"]) == (0, 0)


async def developers(registry: TestRegistry) -> int:
    return await registry.database.query(lambda tx: tx.fetchval("SELECT count(*) FROM people_developer"))


@pytest.mark.parametrize(
    ("setting", "expected"),
    [("beta_invite_required", "invitation code"), ("email_verification_required", "verified e-mail")],
)
async def test_a_registry_that_admits_no_demo_is_named_before_anything_is_written(
    start_registry: StartRegistry, setting: str, expected: str
):
    async with served(start_registry, **{setting: True}) as registry:
        with pytest.raises(DemoFailed, match=expected):
            await demo(registry)
        assert await developers(registry) == 0


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("127.0.0.1:8000", "URL must start with http:// or https://"),
        ("ftp://127.0.0.1", "URL must start with http:// or https://"),
        ("http://127.0.0.1:1", "cannot connect to 127.0.0.1:1: connection refused"),
    ],
)
async def test_an_address_that_is_no_registry_is_one_sentence(url: str, expected: str):
    with pytest.raises(DemoFailed) as failed:
        await run_demo(url, console())
    assert expected in str(failed.value)
