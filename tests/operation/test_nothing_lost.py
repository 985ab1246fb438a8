"""The check of the crash tests finds every kind of loss when one is planted, and nothing when there is none."""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import asyncpg
import pytest

from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from tests.operation.history import Answer, Attempt, History, Operation, Outcome, read_history
from tests.operation.nothing_lost import find_what_is_wrong, rude_answers
from tests.operation.registry_process import RegistryProcess, until
from tests.operation.storm import Storm

SEED = 7


@dataclass(frozen=True)
class Evidence:
    """Database of a calm registry, and the answers to its clients."""

    connection: "asyncpg.Connection[asyncpg.Record]"
    operations: list[Operation]

    def first(self, kind: str, outcome: Outcome) -> Operation:
        return next(one for one in self.operations if one.kind == kind and one.outcome is outcome)

    @property
    def paid(self) -> Operation:
        """A transfer that was acknowledged."""
        return self.first("transfer", Outcome.ACKNOWLEDGED)

    def with_attempts(self, operation: Operation, *attempts: Attempt) -> list[Operation]:
        """The history, with other attempts of one operation."""
        return [replace(one, attempts=list(attempts)) if one is operation else one for one in self.operations]


@pytest.fixture(scope="module")
async def evidence(tmp_path_factory: pytest.TempPathFactory, founded_data: Path) -> AsyncIterator[Evidence]:
    folder = tmp_path_factory.mktemp("calm")
    registry = RegistryProcess(folder / "data", founded=founded_data, TRUSTED_PROXIES="127.0.0.1")
    try:
        operations = await _quiet_storm(registry, folder / "history.jsonl")
        await registry.stop()
        postgres = EmbeddedPostgres(registry.data_dir)
        connection = await asyncpg.connect(await postgres.start())
        # Planted errors pass the triggers that guard the ledger and the journal.
        await connection.execute("SET session_replication_role = replica")
        yield Evidence(connection, operations)
        await connection.close()
        await postgres.stop()
    finally:
        await registry.kill()


async def _quiet_storm(registry: RegistryProcess, path: Path) -> list[Operation]:
    await registry.start()
    history = History(path)
    storm = Storm(registry.url, history, SEED, clients=4, agents=4)
    await storm.gather()
    storm.rage()
    await until(lambda: _is_eventful(read_history(path)), seconds=60)
    await storm.calm()
    await storm.close()
    history.close()
    return read_history(path)


def _is_eventful(operations: list[Operation]) -> bool:
    """Return whether there is something of each kind to plant errors in."""
    seen = Counter((operation.kind, operation.outcome) for operation in operations)
    return (
        seen["transfer", Outcome.ACKNOWLEDGED] >= 20
        and seen["transfer", Outcome.REFUSED] >= 1
        and seen["create_agent", Outcome.ACKNOWLEDGED] >= 6
    )


async def test_nothing_is_wrong_after_a_calm_run(evidence: Evidence):
    assert await find_what_is_wrong(evidence.connection, evidence.operations) == []
    assert rude_answers(evidence.operations) == []
    assert evidence.first("transfer", Outcome.REFUSED)
    assert evidence.first("create_agent", Outcome.ACKNOWLEDGED)


THE_PAYMENT = "(SELECT id FROM ledger_transaction WHERE message = $1)"
ITS_RECEIPT = f"answer LIKE {THE_PAYMENT} || ' %'"
PLANTED_IN_THE_DATABASE = {
    "an acknowledged transfer vanishes": (1, f"DELETE FROM ledger_transaction WHERE id = {THE_PAYMENT}"),
    "an acknowledged transfer happens twice": (
        1,
        (
            "INSERT INTO ledger_transaction (tx_type, payer_id, payee_id, amount, fee, message)"
            f" SELECT tx_type, payer_id, payee_id, amount, fee, message FROM ledger_transaction WHERE id = {THE_PAYMENT}"
        ),
    ),
    "the ledger has another amount": (
        1,
        f"UPDATE ledger_transaction SET amount = amount + 1 WHERE id = {THE_PAYMENT}",
    ),
    "the ledger has another payee": (
        1,
        (
            "UPDATE ledger_transaction t SET payee_id = (SELECT id FROM ledger_account WHERE kind = 'agent'"
            f" AND id NOT IN (t.payee_id, t.payer_id) LIMIT 1) WHERE id = {THE_PAYMENT}"
        ),
    ),
    "a remembered receipt is forgotten": (1, f"DELETE FROM plumbing_idempotency WHERE {ITS_RECEIPT}"),
    "a remembered receipt changes": (
        1,
        f"UPDATE plumbing_idempotency SET answer = answer || '0' WHERE {ITS_RECEIPT}",
    ),
    "an acknowledged agent vanishes": (
        1,
        "DELETE FROM agents_agent WHERE id = (SELECT max(id) FROM agents_agent) AND $1 <> ''",
    ),
    "a posting grows": (
        4,
        f"UPDATE ledger_posting SET delta = delta + 1 WHERE tx_id = {THE_PAYMENT} AND delta > 0",
    ),
    "the postings of a transfer vanish": (4, f"DELETE FROM ledger_posting WHERE tx_id = {THE_PAYMENT}"),
    "a balance grows": (
        4,
        (
            "UPDATE ledger_account SET liquid = liquid + 1"
            f" WHERE id = (SELECT payee_id FROM ledger_transaction WHERE id = {THE_PAYMENT})"
        ),
    ),
    "two balances are mixed up": (
        5,
        (
            "UPDATE ledger_account a SET liquid = a.liquid + CASE a.id WHEN t.payee_id THEN 1 ELSE -1 END"
            f" FROM ledger_transaction t WHERE t.id = {THE_PAYMENT} AND a.id IN (t.payer_id, t.payee_id)"
        ),
    ),
    "a balance after a posting is wrong": (
        5,
        f"UPDATE ledger_posting SET balance_after = balance_after + 1 WHERE tx_id = {THE_PAYMENT}",
    ),
    "an event vanishes": (
        6,
        f"DELETE FROM journal_event WHERE tx_id = {THE_PAYMENT}",
    ),
    "an event is written twice": (
        6,
        (
            "INSERT INTO journal_event (event_type, aggregate_id, aggregate_type, data, source_service)"
            " SELECT x.event_type, x.aggregate_id, x.aggregate_type, x.data, x.source_service FROM journal_event e"
            " CROSS JOIN LATERAL journal_expand(e) x"
            f" WHERE x.event_type = 'LedgerBalanceChanged' AND e.tx_id = {THE_PAYMENT}"
        ),
    ),
    "an event moves another amount": (
        6,
        (f"UPDATE journal_event SET amount = amount + 7 WHERE tx_id = {THE_PAYMENT}"),
    ),
    "an event names a transaction that never was": (
        6,
        (f"UPDATE journal_event SET tx_id = 999999999 WHERE tx_id = {THE_PAYMENT}"),
    ),
    "a bootstrap token makes two agents": (
        7,
        (
            "INSERT INTO agents_agent (did, developer_id, client_id, client_secret_sha256, name, roles)"
            " SELECT did || '0', developer_id, 'agent-0000000000000000', client_secret_sha256, name, roles"
            " FROM agents_agent WHERE $1 <> '' LIMIT 1"
        ),
    ),
    "a used bootstrap token is fresh again": (
        7,
        "UPDATE agents_bootstrap_token SET used_at = NULL WHERE $1 <> ''",
    ),
    "a genesis grant is paid twice": (
        7,
        (
            "INSERT INTO ledger_transaction (tx_type, payer_id, payee_id, amount)"
            " SELECT tx_type, payer_id, payee_id, amount FROM ledger_transaction"
            " WHERE tx_type = 'grant' AND $1 <> '' LIMIT 1"
        ),
    ),
}


@pytest.mark.parametrize("planted", PLANTED_IN_THE_DATABASE)
async def test_an_error_planted_in_the_database_is_found(evidence: Evidence, planted: str):
    condition, statement = PLANTED_IN_THE_DATABASE[planted]
    undone = evidence.connection.transaction()
    await undone.start()
    try:
        assert await evidence.connection.execute(statement, evidence.paid.key) not in {
            "UPDATE 0",
            "DELETE 0",
            "INSERT 0 0",
        }
        findings = await find_what_is_wrong(evidence.connection, evidence.operations)
    finally:
        await undone.rollback()
    assert condition in {finding.condition for finding in findings}, findings


async def test_a_negative_balance_is_found(evidence: Evidence):
    undone = evidence.connection.transaction()
    await undone.start()
    try:
        await evidence.connection.execute(
            "ALTER TABLE ledger_account DROP CONSTRAINT ledger_account_liquid_check"
        )
        await evidence.connection.execute("UPDATE ledger_account SET liquid = -1 WHERE kind = 'agent'")
        findings = await find_what_is_wrong(evidence.connection, evidence.operations)
    finally:
        await undone.rollback()
    assert any(finding.trouble.startswith("a balance is negative") for finding in findings)


async def test_a_sequence_number_that_appears_twice_is_found(evidence: Evidence):
    undone = evidence.connection.transaction()
    await undone.start()
    try:
        await evidence.connection.execute(
            "ALTER TABLE journal_event DROP CONSTRAINT journal_event_pkey CASCADE"
        )
        await evidence.connection.execute("ALTER TABLE journal_event ALTER seq DROP IDENTITY")
        await evidence.connection.execute("UPDATE journal_event SET seq = 2 WHERE seq = 1")
        findings = await find_what_is_wrong(evidence.connection, evidence.operations)
    finally:
        await undone.rollback()
    assert any(finding.trouble.startswith("a sequence number appears twice") for finding in findings)


REFUSED = Attempt(Answer(402, '{"error": {"code": "INSUFFICIENT_BALANCE"}}'))
SILENT = Attempt(None)
PLANTED_IN_THE_HISTORY: dict[str, tuple[int, Callable[[Evidence], list[Operation]]]] = {
    "a refused transfer happened": (2, lambda seen: seen.with_attempts(seen.paid, REFUSED)),
    "a transfer happened that nobody asked for": (
        2,
        lambda seen: [one for one in seen.operations if one is not seen.paid],
    ),
    "a refused creation used its token": (
        2,
        lambda seen: seen.with_attempts(
            seen.first("create_agent", Outcome.ACKNOWLEDGED), Attempt(Answer(422, '{"error": {}}'))
        ),
    ),
    "a refused transfer was acknowledged": (
        1,
        lambda seen: seen.with_attempts(
            seen.first("transfer", Outcome.REFUSED), Attempt(seen.paid.successes[0])
        ),
    ),
    "a repetition got another answer": (
        1,
        lambda seen: seen.with_attempts(
            seen.paid,
            Attempt(seen.paid.successes[0]),
            Attempt(replace(seen.paid.successes[0], text="{}", replayed=True)),
        ),
    ),
    "a repetition was carried out": (
        1,
        lambda seen: seen.with_attempts(
            seen.paid, *[Attempt(replace(seen.paid.successes[0], replayed=False))] * 2
        ),
    ),
    "a bootstrap token was acknowledged for two agents": (
        7,
        lambda seen: seen.with_attempts(
            seen.first("create_agent", Outcome.ACKNOWLEDGED),
            *(
                Attempt(one.successes[0])
                for one in seen.operations
                if one.kind == "create_agent" and one.successes
            ),
        ),
    ),
}


@pytest.mark.parametrize("planted", PLANTED_IN_THE_HISTORY)
async def test_an_error_planted_in_the_history_is_found(evidence: Evidence, planted: str):
    condition, change = PLANTED_IN_THE_HISTORY[planted]
    findings = await find_what_is_wrong(evidence.connection, change(evidence))
    assert condition in {finding.condition for finding in findings}, findings


async def test_a_transfer_without_an_answer_may_have_happened_once(evidence: Evidence):
    operations = evidence.with_attempts(evidence.paid, SILENT)
    assert await find_what_is_wrong(evidence.connection, operations) == []


async def test_a_transfer_without_an_answer_that_happened_twice_is_found(evidence: Evidence):
    operations = evidence.with_attempts(evidence.paid, SILENT)
    _, twice = PLANTED_IN_THE_DATABASE["an acknowledged transfer happens twice"]
    undone = evidence.connection.transaction()
    await undone.start()
    try:
        await evidence.connection.execute(twice, evidence.paid.key)
        findings = await find_what_is_wrong(evidence.connection, operations)
    finally:
        await undone.rollback()
    assert 3 in {finding.condition for finding in findings}


@pytest.mark.parametrize(
    "answer",
    [Answer(500, "{}"), Answer(502, "{}", retry_after=True), Answer(503, "{}"), Answer(429, "{}")],
    ids=lambda answer: str(answer.status),
)
async def test_an_answer_that_no_trouble_excuses_is_found(evidence: Evidence, answer: Answer):
    assert rude_answers(evidence.with_attempts(evidence.paid, Attempt(answer))) == [f"{answer.status} {{}}"]
    assert (
        rude_answers(evidence.with_attempts(evidence.paid, Attempt(Answer(503, "{}", retry_after=True))))
        == []
    )
