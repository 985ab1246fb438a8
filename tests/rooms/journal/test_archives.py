"""A month of the journal is archived, verified offline and dropped; nobody passes over what is gone without an error."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pyarrow.parquet as pq
import pytest

from hansa.doors.assembly import ASSEMBLY
from hansa.doors.journal_archives import BadArchive, archive_month, drop_month
from hansa.doors.verification.archives import verify_archives
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.canonical import canonical_json
from hansa.foundation.values.errors import Conflict
from hansa.rooms import auditor, federation, journal
from hansa.rooms.journal.counting import count_settled
from hansa.rooms.journal.projection.snapshot import projected_balances
from hansa.rooms.journal.volume import add_settled_volume
from hansa.rooms.ledger.history import held_balances
from hansa_verify import ARCHIVE_TYPE, CARD_PROFILE, ArchiveVerdict, RegistryKey, verify_archive
from tests.operation.registry_process import run
from tests.registry import StartRegistry, TestAgent, TestRegistry

MONTH = "2025-08"
PARTITION = "journal_event_2025_08"
FILE, MANIFEST = f"journal-{MONTH}.parquet", f"journal-{MONTH}.json"

# Everything that was recorded so far is of that month from now on.
AGE = """
SELECT journal_add_month('2025-08-01Z');
DO $$ DECLARE part text; BEGIN
  FOR part IN SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'journal_event'::regclass
    UNION SELECT 'journal_event' LOOP
    EXECUTE format('ALTER TABLE %s DISABLE TRIGGER journal_append_only', part);
  END LOOP;
  UPDATE journal_event SET recorded_at = '2025-08-02Z'::timestamptz + seq * interval '1 second';
  FOR part IN SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'journal_event'::regclass
    UNION SELECT 'journal_event' LOOP
    EXECUTE format('ALTER TABLE %s ENABLE TRIGGER journal_append_only', part);
  END LOOP;
END $$;
"""

APPEND = """
INSERT INTO journal_event (event_type, aggregate_id, aggregate_type, data, source_service, recorded_at)
VALUES ('AgentOnboarded', 'did:x', 'agent', '{}', 'registry', '2025-08-30Z')
"""


@dataclass
class Aged:
    """A registry whose first events are of a month long over, and readers' cursors in it."""

    registry: TestRegistry
    folder: Path
    payer: TestAgent
    payee: TestAgent
    quiet: TestAgent
    cursor: str
    own_cursor: str
    old_event: int
    old_transaction: int

    async def archive(self, month: str = MONTH) -> None:
        await archive_month(self.registry.settings, month, self.folder)

    async def drop(self) -> journal.ArchivedMonth:
        return await drop_month(self.registry.settings, MONTH, self.folder)

    async def verify(self, month: str | None = None) -> ArchiveVerdict:
        """The verdict by the published history of keys."""
        history = await self.registry.http.get("/.well-known/registry-jwks-history.json")
        keys = self.folder.with_name("history.json")
        keys.write_bytes(history.content)
        [verdict] = verify_archives(self.folder, str(keys), month).values()
        return verdict

    async def sign(self, manifest: dict[str, Any], key: federation.SigningKey, moment: int) -> None:
        """Write the manifest with a signature of this key and time."""
        header = {"typ": ARCHIVE_TYPE, "iat": moment, "canon": CARD_PROFILE}
        signature = federation.detached_signature(key, canonical_json(manifest), header)
        (self.folder / MANIFEST).write_text(json.dumps({**manifest, "signatures": [signature]}))

    async def key(self) -> federation.SigningKey:
        runtime = self.registry.runtime
        return await self.registry.database.query(lambda tx: federation.present_signing_key(tx, runtime.seal))

    def manifest(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.folder / MANIFEST).read_text())
        del document["signatures"]
        return document

    async def settle(self) -> None:
        """Let counters, volume, reactors and audits pass the present end of the log."""
        database = self.registry.database
        await self.registry.transactions_ended()
        await database.transaction(count_settled)
        await database.transaction(add_settled_volume)
        for reactor in ASSEMBLY.reactors:
            await database.transaction(lambda tx, name=reactor.name: journal.pass_over(tx, name))
        for _ in range(3):
            await database.transaction(auditor.audit, one_snapshot=True)


async def events_of(registry: TestRegistry, query: str = "") -> dict[str, Any]:
    answer = await registry.get(f"/events/?limit=500{query}", headers=registry.internal)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture
async def aged(start_registry: StartRegistry, tmp_path: Path) -> Aged:
    registry = await start_registry(retention_months=2)
    folder = tmp_path / "archive"
    folder.mkdir()
    payer, payee, quiet = [await registry.agent() for _ in range(3)]
    for amount in ("10", "0.00000001", "2.5"):
        answer = await payer.transfer(payee, amount, message='a "quote", \\ and ünïcode\u2028')
        assert answer.status_code == 200, answer.text
    old_transaction = int(answer.json()["transaction_id"].removeprefix("tx-"))
    page = (await registry.get("/agents/me/events?limit=2", headers=payer.headers)).json()
    first = await events_of(registry, "&sort_order=asc")
    await registry.database.transaction(lambda tx: tx.execute(AGE))
    cursor = (await registry.get("/events/?limit=3", headers=registry.internal)).json()["position"]
    return Aged(
        registry,
        folder,
        payer,
        payee,
        quiet,
        cursor,
        page["position"],
        first["items"][3]["sequence"],
        old_transaction,
    )


async def test_an_archive_has_every_event_of_its_month_and_is_verified_offline(aged: Aged):
    total = (await events_of(aged.registry))["pagination"]["total_items"]
    assert (await aged.payer.transfer(aged.payee, "1")).status_code == 200
    await aged.archive()
    verdict = await aged.verify()
    assert verdict.is_valid, verdict.steps
    assert verdict.manifest is not None
    assert (verdict.manifest["events"], verdict.manifest["month"]) == (total, MONTH)
    table = pq.read_table(aged.folder / FILE)
    assert table.num_rows == verdict.manifest["rows"] < total
    assert 'a "quote", \\ and ünïcode\u2028' in table.column("message").to_pylist()
    command = ("verify", "archive", str(aged.folder), f"--keys={aged.folder.with_name('history.json')}")
    ended = await run(*command, "--json", data_dir=aged.folder.with_name("none"))
    assert (ended.code, json.loads(ended.output)["archives"][0]["month"]) == (0, MONTH), ended
    change_the_file(aged)
    assert (await run(*command, data_dir=aged.folder.with_name("none"))).code == 1
    # Nothing is dropped by it.
    assert (await events_of(aged.registry))["pagination"]["total_items"] > total


def change_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def change_the_file(aged: Aged) -> None:
    change_a_byte(aged.folder / FILE)


def cut_the_file(aged: Aged) -> None:
    path = aged.folder / FILE
    path.write_bytes(path.read_bytes()[:-1])


def remove_the_file(aged: Aged) -> None:
    (aged.folder / FILE).unlink()


def change_the_manifest(aged: Aged) -> None:
    path = aged.folder / MANIFEST
    path.write_text(path.read_text().replace('"rows": ', '"rows": 1'))


@pytest.mark.parametrize(
    ("attack", "code"),
    [
        (change_the_file, "file_altered"),
        (cut_the_file, "file_altered"),
        (remove_the_file, "file_missing"),
        (change_the_manifest, "bad_signature"),
    ],
)
async def test_an_archive_that_was_altered_is_refused_and_nothing_is_dropped(
    aged: Aged, attack: Callable[[Aged], None], code: str
):
    await aged.archive()
    await aged.settle()
    attack(aged)
    assert (await aged.verify()).code == code
    with pytest.raises(BadArchive, match=code):
        await aged.drop()
    assert PARTITION in await partitions(aged.registry)


async def test_an_archive_under_the_name_of_another_month_is_refused(aged: Aged):
    await aged.archive()
    for name in (FILE, MANIFEST):
        (aged.folder / name).rename(aged.folder / name.replace("2025-08", "2025-07"))
    assert (await aged.verify()).code == "other_month"


async def test_a_missing_row_is_found_behind_a_right_digest_and_signature(aged: Aged):
    await aged.archive()
    path, manifest = aged.folder / FILE, aged.manifest()
    pq.write_table(pq.read_table(path).slice(1), path)
    content = path.read_bytes()
    manifest["file"] |= {"bytes": len(content), "sha256": sha256(content).hexdigest()}
    key = await aged.key()
    await aged.sign(manifest, key, int(key.now.timestamp()))
    verdict = await aged.verify()
    assert (verdict.code, verdict.steps[-1].name) == ("rows_altered", "rows")
    await aged.settle()
    with pytest.raises(BadArchive, match="rows_altered"):
        await aged.drop()


async def test_a_manifest_signed_anew_by_a_retired_key_is_refused(aged: Aged):
    await aged.archive()
    retired, manifest = await aged.key(), aged.manifest()
    await aged.registry.database.transaction(
        lambda tx: federation.rotate_key(tx, aged.registry.settings, aged.registry.runtime.seal, None)
    )
    # The archive itself stays valid: its key was in force.
    assert (await aged.verify()).is_valid
    now = (await aged.key()).now
    keys = await aged.registry.database.query(federation.all_keys)
    known = [RegistryKey(key.kid, key.public_key, key.valid_from, key.retired_at) for key in keys]
    later = now + timedelta(minutes=5)
    await aged.sign({**manifest, "events": manifest["events"] - 1}, retired, int(later.timestamp()))
    verdict = verify_archive(aged.folder, MONTH, known, at=later)
    assert (verdict.code, verdict.steps[-1].name) == ("key_retired", "time")
    await aged.settle()
    with pytest.raises(BadArchive, match="signed at"):
        await aged.drop()


async def test_a_month_that_is_not_over_or_was_never_stored_is_not_archived(aged: Aged):
    now = await aged.registry.database.query(lambda tx: tx.fetchval("SELECT to_char(now(), 'YYYY-MM')"))
    with pytest.raises(journal.MonthNotArchivable, match="is not over"):
        await aged.archive(now)
    with pytest.raises(journal.MonthNotArchivable, match="no partition"):
        await aged.archive("2021-01")
    with pytest.raises(journal.MonthNotArchivable, match="is written as"):
        await aged.archive("2025-13")
    assert list(aged.folder.iterdir()) == []


async def partitions(registry: TestRegistry) -> set[str]:
    rows = await registry.database.query(
        lambda tx: tx.fetch(
            "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'journal_event'::regclass"
        )
    )
    return {row["name"] for row in rows}


async def balances(registry: TestRegistry, *, from_zero: bool) -> tuple[list[Any], list[Any]]:
    async def read(tx: Tx) -> tuple[list[Any], list[Any]]:
        by_log = [held async for held in projected_balances(tx, from_zero=from_zero)]
        return by_log, [held async for held in held_balances(tx)]

    return await registry.database.read(read)


async def test_a_dropped_month_leaves_balances_and_audits_as_they_are(aged: Aged):
    await aged.archive()
    with pytest.raises(journal.MonthNotDroppable, match="No audit"):
        await aged.drop()
    await aged.settle()
    counted = (await events_of(aged.registry))["pagination"]["total_items"]
    dropped = await aged.drop()
    assert PARTITION not in await partitions(aged.registry)
    assert dropped.events <= counted == (await events_of(aged.registry))["pagination"]["total_items"]
    assert (await aged.payer.transfer(aged.payee, "1")).status_code == 200
    assert (await aged.registry.supply())["delta"] == "0"
    for audit in (auditor.audit, auditor.audit_from_zero, auditor.audit):
        verdict = await aged.registry.database.transaction(audit, one_snapshot=True)
        assert (verdict.status, verdict.supply.delta, verdict.findings["transactions"]) == ("OK", 0, [])
    by_log, by_ledger = await balances(aged.registry, from_zero=True)
    assert by_log == by_ledger
    with pytest.raises(journal.MonthNotDroppable, match="dropped already"):
        await aged.drop()
    with pytest.raises(journal.MonthNotArchivable, match="was dropped"):
        await archive_month(aged.registry.settings, MONTH, aged.folder.parent)


async def test_readers_of_a_dropped_month_get_an_error_that_says_so(aged: Aged):
    await aged.archive()
    await aged.settle()
    await aged.drop()
    registry, own = aged.registry, aged.payer.headers
    assert (await aged.payer.transfer(aged.payee, "1")).status_code == 200
    for path, headers in (
        (f"/api/v1/events/?next={aged.cursor}", registry.internal),
        (f"/api/v1/agents/me/events?next={aged.own_cursor}", own),
        (f"/events/{aged.old_event}", {"Accept": "application/json"}),
        (f"/transactions/tx-{aged.old_transaction}", {"Accept": "application/json"}),
        (f"/events?before={aged.cursor}", {"Accept": "application/json"}),
    ):
        answer = await registry.http.get(path, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (410, "EVENTS_ARCHIVED"), path
        assert "archived" in answer.json()["detail"]
    # A reader that begins anew, and one whose cursor is behind the month, go on.
    stored = await events_of(registry)
    transferred = [one for one in stored["items"] if one["event_type"] == "TokensTransferred"]
    assert [one["data"]["amount"] for one in transferred] == ["1"]
    assert await events_of(registry, f"&next={stored['position']}")
    mine = (await registry.get("/agents/me/events", headers=own)).json()
    assert {one["event_type"] for one in mine["items"]} >= {"TokensTransferred", "LedgerBalanceChanged"}
    # Also where nothing of the agent is stored: a cursor of the beginning or the end of its events is behind what was dropped.
    quiet = aged.quiet.headers
    for agent in (own, quiet):
        for start in ("", "?start=end"):
            page = await registry.get(f"/agents/me/events{start}", headers=agent)
            again = await registry.get(f"/agents/me/events?next={page.json()['position']}", headers=agent)
            assert again.status_code == 200, again.text
    empty = (await registry.get("/agents/me/events", headers=quiet)).json()
    assert (empty["items"], empty["is_last"]) == ([], True)


async def test_a_stream_from_a_dropped_position_says_that_events_are_missing(aged: Aged):
    await aged.archive()
    await aged.settle()
    await aged.drop()
    assert (await aged.payer.transfer(aged.payee, "1")).status_code == 200
    async with (
        aged.registry.listening() as place,
        httpx2.AsyncClient(timeout=60) as client,
        client.stream(
            "GET", f"http://{place}/events/stream", headers={"Last-Event-ID": aged.cursor}
        ) as answer,
    ):
        seen = ""
        async with asyncio.timeout(60):
            async for part in answer.aiter_text():
                seen += part
                if "TokensTransferred" in seen:
                    break
    assert "event: gap" in seen
    assert "archived" in seen


@pytest.mark.parametrize("months", [None, 1200])
async def test_a_month_is_dropped_after_its_retention_alone(aged: Aged, months: int | None):
    await aged.archive()
    await aged.settle()
    kept = aged.registry.settings.model_copy(update={"retention_months": months})
    with pytest.raises(journal.MonthNotDroppable, match="RETENTION_MONTHS"):
        await drop_month(kept, MONTH, aged.folder)


async def test_an_event_that_came_after_the_archive_keeps_its_month(aged: Aged):
    await aged.archive()
    await aged.registry.database.transaction(lambda tx: tx.execute(APPEND))
    await aged.settle()
    with pytest.raises(journal.MonthNotDroppable, match="archive it anew"):
        await aged.drop()
    (aged.folder / MANIFEST).unlink()
    await aged.archive()
    assert (await aged.drop()).events


async def test_an_append_under_way_is_waited_for_and_found(aged: Aged):
    await aged.archive()
    await aged.settle()
    connection = await asyncpg.connect(aged.registry.database.dsn)
    try:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute(APPEND)
        dropping = asyncio.create_task(aged.drop())
        waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = $1::regclass)"
        while not await connection.fetchval(waits, PARTITION):
            assert not dropping.done()
            await asyncio.sleep(0.02)
        await transaction.commit()
        with pytest.raises(journal.MonthNotDroppable, match="archive it anew"):
            await dropping
    finally:
        await connection.close()
    assert PARTITION in await partitions(aged.registry)
    verdict = await aged.registry.database.transaction(auditor.audit_from_zero, one_snapshot=True)
    assert verdict.supply.delta == 0


async def test_a_reader_of_the_log_delays_a_drop_and_sees_one_state(aged: Aged):
    await aged.archive()
    await aged.settle()
    reading = asyncio.Event()

    async def read(tx: Tx) -> int:
        before: int = await tx.fetchval("SELECT count(*) FROM journal_event")
        await reading.wait()
        assert await tx.fetchval("SELECT count(*) FROM journal_event") == before
        return before

    reader = asyncio.create_task(aged.registry.database.read(read))
    waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'journal_event'::regclass)"
    dropping = asyncio.create_task(aged.drop())
    while not await aged.registry.database.query(lambda tx: tx.fetchval(waits)):
        assert not dropping.done()
        await asyncio.sleep(0.02)
    reading.set()
    assert await reader
    assert (await dropping).events


async def test_a_month_is_not_dropped_before_an_earlier_one_or_by_a_stranger_to_its_record(aged: Aged):
    await aged.archive()
    await aged.settle()
    # Another archive of the same month, such as that of a copy, is not the recorded one.
    key = await aged.key()
    manifest = aged.manifest()
    manifest["registry"] = "elsewhere.test"
    await aged.sign(manifest, key, int(key.now.timestamp()))
    assert (await aged.verify()).is_valid
    with pytest.raises(journal.MonthNotDroppable, match="not the one that this registry recorded"):
        await aged.drop()
    (aged.folder / MANIFEST).unlink()
    await aged.archive()
    await aged.registry.database.transaction(
        lambda tx: tx.execute(APPEND.replace("2025-08-30Z", "2025-07-30Z"))
    )
    await aged.settle()
    with pytest.raises(journal.MonthNotDroppable, match="in order"):
        await aged.drop()


async def test_a_month_is_not_dropped_before_its_followers_are_beyond_it(aged: Aged):
    await aged.archive()
    await aged.settle()
    database = aged.registry.database
    place = await database.transaction(lambda tx: journal.place_of_follower(tx, "lake"))
    with pytest.raises(journal.MonthNotDroppable, match="'lake' has not published"):
        await aged.drop()
    events = await journal.events_to_follow(database, place, 100_000)
    beyond = journal.Place.of(events[-1])
    await database.transaction(lambda tx: journal.move_follower(tx, "lake", before=place, to=beyond))
    await database.transaction(lambda tx: journal.place_of_follower(tx, "unused"))
    with pytest.raises(journal.MonthNotDroppable, match="'unused' has not published"):
        await aged.drop()
    await database.transaction(lambda tx: journal.forget_follower(tx, "unused"))
    with pytest.raises(journal.FollowerUnknown):
        await database.transaction(lambda tx: journal.forget_follower(tx, "unused"))
    assert (await aged.drop()).events


async def test_two_drops_at_once_drop_once(aged: Aged):
    await aged.archive()
    await aged.settle()
    outcomes = await asyncio.gather(aged.drop(), aged.drop(), return_exceptions=True)
    dropped = [one for one in outcomes if isinstance(one, journal.ArchivedMonth)]
    assert len(dropped) == 1, outcomes
    assert all(isinstance(one, journal.ArchivedMonth | Conflict) for one in outcomes), outcomes
    with suppress(Conflict):
        await aged.drop()
    verdict = await aged.registry.database.transaction(auditor.audit_from_zero, one_snapshot=True)
    assert (verdict.status, verdict.supply.delta) == ("OK", 0)
