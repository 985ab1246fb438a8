"""Accounts of one owner together: totals and days agree with the book, whatever moved between the accounts."""

import itertools
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import ledger
from hansa.rooms.ledger.history import portfolio
from tests.registry import DatabaseFarm
from tests.rooms.ledger.purses import Purses, open_purses
from tests.rooms.ledger.staking.stakers import ROLES

DAYS = 30
NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
async def purses(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Purses]:
    directory = tmp_path_factory.mktemp("portfolios")
    async with open_purses(database_farm, directory, agent_rbac_default_roles=ROLES) as opened:
        yield opened


async def read(purses: Purses, *dids: str) -> ledger.Portfolio:
    return await purses.registry.database.read(
        lambda tx: ledger.read_portfolio(tx, dids, days=DAYS, newest=10)
    )


def shown(amounts: tuple[Minor, Minor]) -> tuple[str, str]:
    return format_amount(amounts[0]), format_amount(amounts[1])


async def test_units_that_move_between_own_accounts_or_buckets_are_neither_received_nor_paid(purses):
    first, second, other = await purses.agent("100"), await purses.agent(), await purses.agent()
    assert shown((await read(purses, first.did, second.did)).moved(7)) == ("100", "0")
    await first.transfer(second, "40")
    staked = await purses.registry.post("/staking/stake", json={"amount": "20"}, headers=first.headers)
    assert staked.status_code == 200, staked.text
    await first.transfer(other, "10")
    held = await read(purses, first.did, second.did)
    # Of the transfer between own accounts its fee alone is paid.
    assert shown(held.moved(7)) == ("100", "10.25")
    assert format_amount(held.total) == "89.75"
    assert [format_amount(one.net) for one in held.newest] == ["-10.05", "0", "-0.2", "100"]


async def test_of_an_account_with_more_postings_than_are_read_the_days_begin_later_and_the_total_is_whole(
    purses, monkeypatch
):
    agent, other = await purses.agent("100"), await purses.agent()
    for _ in range(4):
        await agent.transfer(other, "1")
    assert (await read(purses, agent.did)).known_since is None
    monkeypatch.setattr(portfolio, "POSTINGS_OF_ALL", 3)
    monkeypatch.setattr(portfolio, "POSTINGS_LEAST", 3)
    held = await read(purses, agent.did)
    # The oldest posting that was read may be one of several of its transaction.
    assert [format_amount(one.net) for one in held.newest] == ["-1.005", "-1.005"]
    assert held.known_since == held.cut_within(1) == held.newest[-1].recorded_at
    assert shown(held.moved(7)) == ("0", "2.01")
    assert (format_amount(held.total), len(held.line(DAYS))) == ("95.98", 1)


async def test_an_unknown_agent_has_no_balance_and_nobody_has_no_movement(purses):
    held = await read(purses, "did:hansa:hansa.local:00000000-0000-4000-8000-000000000000")
    assert (held.balances, held.total, held.newest, held.moved(7)) == ({}, 0, [], (0, 0))
    assert {amount for _, amount in held.line(DAYS)} == {0}


@settings(max_examples=60, deadline=None)
@given(
    total=st.integers(0, 10**6),
    moves=st.dictionaries(
        st.integers(0, DAYS + 5), st.tuples(st.integers(0, 1000), st.integers(0, 1000)), max_size=20
    ),
)
def test_the_line_goes_from_day_to_day_by_what_was_received_and_paid(total, moves):
    days = {(NOW - timedelta(days=back)).date(): amounts for back, amounts in moves.items()}
    held = ledger.Portfolio(
        NOW, {"did:x": ledger.Balance("did:x", Minor(total), Minor(0), Minor(0))}, days, [], False, None
    )
    line = held.line(DAYS)
    assert (len(line), line[-1]) == (DAYS + 1, (NOW, total))
    for (begins, before), (_, after) in itertools.pairwise(line):
        received, paid = days.get(begins.date(), (0, 0))
        assert after - before == received - paid
