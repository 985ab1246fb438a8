"""`hansa replay` on a registry beside which nothing else runs: its report, its refusals, and that nothing of it is left."""

import asyncio
import json
import signal
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.operation.registry_process import Ended, environment, launch, run, until
from tests.registry import DatabaseFarm, TestRegistry, open_registry

FEE = "fee_base_rate_percent"
CONTENT = """
SELECT (SELECT count(*) FROM journal_event) AS events, (SELECT sum(hashtextextended(a::text, 0)) FROM ledger_account a) AS accounts,
  (SELECT count(*) FROM pg_database) AS databases
"""


class Replayed:
    """A registry with four transfers, and the command on it; temporary files of the command are below `temporary`."""

    def __init__(self, registry: TestRegistry, dsn: str, data_dir: Path, temporary: Path) -> None:
        self.registry, self.data_dir, self.temporary = registry, data_dir, temporary
        self.settings = {"DATABASE_URL": dsn, "TMPDIR": str(temporary)}

    async def pay(self) -> None:
        """Transfer there and back, the last time all that the payer holds."""
        alice, bob = await self.registry.agent(), await self.registry.agent()
        for payer, payee, amount in (
            (alice, bob, "10"),
            (bob, alice, "3"),
            (alice, bob, "1"),
            (alice, bob, "90.5"),
        ):
            assert (await payer.transfer(payee, amount)).status_code == 200

    async def replay(self, *options: str) -> Ended:
        return await run("replay", *options, data_dir=self.data_dir, **self.settings)

    async def report(self, *options: str) -> dict[str, Any]:
        ended = await self.replay(*options, "--json")
        assert ended.code == 0, ended
        report: dict[str, Any] = json.loads(ended.output)
        return report

    async def content(self) -> tuple[Any, ...]:
        row = await self.registry.database.query(lambda tx: tx.fetchrow(CONTENT))
        assert row is not None
        return tuple(row)

    def has_left_nothing(self) -> bool:
        return not list(self.temporary.iterdir())


@pytest.fixture
async def replayed(database_farm: DatabaseFarm, tmp_path: Path) -> AsyncIterator[Replayed]:
    dsn, data_dir, temporary = await database_farm.fresh(), tmp_path / "data", tmp_path / "temporary"
    temporary.mkdir()
    async with open_registry(dsn, data_dir) as registry:
        replayed = Replayed(registry, dsn, data_dir, temporary)
        await replayed.pay()
        yield replayed


async def test_the_recorded_rules_give_no_difference_and_the_registry_is_only_read(replayed: Replayed):
    before = await replayed.content()
    ended = await replayed.replay("--from=1")
    assert ended.code == 0, ended
    assert "accounts are zero." in ended.output
    assert "Would have been refused: 0" in ended.output
    assert await replayed.content() == before
    assert replayed.has_left_nothing()


async def test_another_fee_gives_differences_by_account_that_sum_to_zero_and_names_refused_acts(
    replayed: Replayed,
):
    report = await replayed.report("--from=1", "--with", f"{FEE}=2")
    assert report["with"] == {FEE: "2"}
    assert report["total"]["difference"] == "0"
    assert report["recomputed"] == {"transfer": 4}
    # The last transfer takes nearly all: a fee of two percent is not covered.
    [refused] = report["refused"]["listed"]
    assert (refused["amount"], refused["follows"]) == ("90.5", None)
    assert "does not cover" in refused["reason"]
    differences = {one["account"]: one["difference"] for one in report["accounts"]}
    # 10 + 3 + 1 units at 1.5 % more, and the fee of 90.5 units at 0.5 % less.
    assert differences["did:hansa:system:fee_collector"] == "-0.2425"
    assert await replayed.report("--from=1", "--with", f"{FEE}=2") == report


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--from=1", "--with", "no_such=1"), "'no_such' is no governed setting."),
        (
            ("--from=1", "--with", f"{FEE}=2.1"),
            f"{FEE}: the value must be from 0 to 2 with at most 6 fraction digits, got '2.1'.",
        ),
        (("--from=1", "--with", f"{FEE}=-1"), f"{FEE}: `value` must be a decimal string."),
        (("--from=1", "--with", f"{FEE}=1,{FEE}=2"), f"--with names {FEE} twice."),
        (("--from=1", "--with", FEE), f"--with takes name=value, got '{FEE}'."),
        (("--from=1", "--with", "mark_min_fee=1"), "mark_min_fee changes nothing that a replay recomputes"),
        (("--from=1", "--with", f"{FEE}=2,fee_max_rate_percent=1"), "The values do not fit together:"),
        (("--from=999999",), "The journal has no event with the sequence number 999999"),
        (("--from=0",), "The journal has no event with the sequence number 0"),
        (("--from=3", "--to=2"), "The period ends at 2, before it begins at 3."),
        ((f"--from={10**30}",), "The journal has no event with the sequence number 1000"),
    ],
)
async def test_a_replay_that_cannot_be_made_is_refused_in_one_sentence(
    replayed: Replayed, options: tuple[str, ...], sentence: str
):
    ended = await replayed.replay(*options)
    assert ended.code == 1, ended
    assert sentence in ended.complaint
    assert len(ended.complaint.splitlines()) == 1
    assert replayed.has_left_nothing()


async def test_a_period_in_a_month_that_was_dropped_is_refused(replayed: Replayed):
    await replayed.registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO journal_archive SELECT '2020-01-01', 2, 2, 1, 2, 1, 2, sha256('x'), 'kid', now(), now(),"
            " 0, 0, 0, 0, 0, 0, 0, 0, 0, '{}'"
        )
    )
    ended = await replayed.replay("--from=1")
    assert (ended.code, ended.complaint.count("\n")) == (1, 1)
    assert "Events up to sequence number 2 were archived" in ended.complaint


@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 1)])
async def test_a_replay_that_is_interrupted_leaves_no_server_and_no_directory(
    replayed: Replayed, ending: signal.Signals, code: int
):
    process = await launch(
        "replay", "--from=1", environment=environment(replayed.data_dir, **replayed.settings), stderr=PIPE
    )
    async with asyncio.timeout(60):
        await until(lambda: list(replayed.temporary.glob("hansa-replay-*/postgres/postmaster.pid")))
        process.send_signal(ending)
        _, complaint = await process.communicate()
    assert (await process.wait(), complaint.count(b"\n")) == (code, code % 2)
    assert replayed.has_left_nothing()
