"""A backup of a registry whose old months were archived and dropped: the copy audits, proves and verifies what the registry did."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hansa.doors.commands.program import app
from hansa.doors.database_backup import back_up, read_backup, restore
from hansa.doors.journal_archives import archive_month
from hansa.foundation.plumbing.settings import read_settings
from hansa.rooms import auditor, journal
from tests.operation.own_database import own_database
from tests.registry import TestRegistry, open_registry
from tests.rooms.journal.test_archives import MONTH, PARTITION, Aged, aged, balances, events_of, partitions

__all__ = ["aged"]

SECRET = "Quiet-Harbour-41-Lantern"


async def verify(*arguments: object) -> list[str]:
    """The lines of `hansa verify`, which finds no fault."""
    command = ["verify", *map(str, arguments)]
    ended = await asyncio.to_thread(CliRunner().invoke, app, command)
    assert ended.exit_code == 0, ended.stdout + ended.stderr
    return (ended.stdout + ended.stderr).splitlines()


async def cycle(registry: TestRegistry) -> None:
    """A cycle of the auditor, also when there was one a moment ago."""
    await registry.database.transaction(auditor.audit, one_snapshot=True)
    await auditor.run_cycle(registry.runtime)


@pytest.fixture
async def copied(aged: Aged, postgres: str, tmp_path: Path) -> AsyncIterator[tuple[Aged, Aged]]:
    """The registry without its oldest month, and the copy that was restored from its backup."""
    await aged.archive()
    await aged.settle()
    await aged.drop()
    assert (await aged.payer.transfer(aged.payee, "1")).status_code == 200
    await cycle(aged.registry)
    await back_up(aged.registry.settings, tmp_path / "registry.hansa", SECRET)
    async with own_database(postgres) as dsn:
        data_dir = tmp_path / "copy"
        reader = read_backup(tmp_path / "registry.hansa")
        await restore(read_settings(database_url=dsn, data_dir=data_dir), reader, SECRET)
        async with open_registry(dsn, data_dir, retention_months=2) as copy:
            actors = {
                name: replace(getattr(aged, name), registry=copy) for name in ("payer", "payee", "quiet")
            }
            yield aged, replace(aged, registry=copy, **actors)


async def balances_of(aged: Aged) -> list[str]:
    answers = [
        await aged.registry.get("/teg/balance", headers=agent.headers)
        for agent in (aged.payer, aged.payee, aged.quiet)
    ]
    return [answer.json()["balance"] for answer in answers]


async def months_of(registry: TestRegistry) -> list[journal.ArchivedMonth]:
    return await registry.database.query(journal.archived_months)


async def test_the_copy_has_the_sums_of_what_was_dropped_and_its_audits_find_no_difference(
    copied: tuple[Aged, Aged],
):
    original, copy = copied
    assert await balances_of(copy) == await balances_of(original)
    assert PARTITION not in await partitions(copy.registry)
    counted = [(await events_of(one.registry))["pagination"]["total_items"] for one in copied]
    assert counted[0] == counted[1]
    assert (await copy.payer.transfer(copy.payee, "0.5")).status_code == 200
    assert (await copy.registry.supply())["delta"] == "0"
    for audit in (auditor.audit, auditor.audit_from_zero, auditor.audit):
        verdict = await copy.registry.database.transaction(audit, one_snapshot=True)
        assert (verdict.status, verdict.supply.delta, verdict.findings["transactions"]) == ("OK", 0, [])
    for from_zero in (False, True):
        by_log, by_ledger = await balances(copy.registry, from_zero=from_zero)
        assert by_log == by_ledger


async def test_the_copy_knows_its_archives_and_refuses_readers_and_acts_of_a_dropped_month(
    copied: tuple[Aged, Aged],
):
    original, copy = copied
    assert await months_of(copy.registry) == await months_of(original.registry)
    with pytest.raises(journal.MonthNotDroppable, match="dropped already"):
        await copy.drop()
    with pytest.raises(journal.MonthNotArchivable, match="was dropped"):
        await archive_month(copy.registry.settings, MONTH, copy.folder.parent)
    for path, headers in (
        (f"/api/v1/events/?next={copy.cursor}", copy.registry.internal),
        (f"/api/v1/agents/me/events?next={copy.own_cursor}", copy.payer.headers),
        (f"/transactions/tx-{copy.old_transaction}", {"Accept": "application/json"}),
    ):
        answer = await copy.registry.http.get(path, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (410, "EVENTS_ARCHIVED"), path


async def test_the_copy_proves_balances_and_its_archive_log_and_attestations_are_verified(
    copied: tuple[Aged, Aged], tmp_path: Path
):
    original, copy = copied
    registry = copy.registry
    assert (await copy.payer.transfer(copy.payee, "0.5")).status_code == 200
    await cycle(registry)
    proof = await registry.get("/teg/balance/proof", headers=copy.payee.headers)
    assert proof.status_code == 200, proof.text
    saved = tmp_path / "proof.json"
    saved.write_text(proof.text)
    assert (await copy.verify()).is_valid
    export = await original.registry.http.get("/api/auditor/attestations?limit=1")
    head = json.loads(export.text)["attestations"][0]
    async with registry.listening() as place:
        keys = f"--keys=http://{place}/.well-known/auditor-jwks.json"
        balance = f"--balance={(await balances_of(copy))[1]}"
        assert (await verify("balance-proof", saved, keys, balance))[-1] == "verified"
        assert (await verify("attestations", f"http://{place}"))[-1].startswith("verified")
        assert (await verify("log", f"http://{place}"))[-1].startswith("verified")
        await verify("registry-card", f"http://{place}")
        history = f"--keys=http://{place}/.well-known/registry-jwks-history.json"
        assert any(MONTH in line for line in await verify("archive", copy.folder, history))
    # The chain of the copy continues the one that the registry had published.
    chain = await registry.http.get("/api/auditor/attestations?limit=100")
    published = [(one["id"], one["payload"]) for one in json.loads(chain.text)["attestations"]]
    assert (head["id"], head["payload"]) in published
