"""Nothing lost: the answers to clients, compared with the database, when nobody writes any more.

1. An acknowledged operation has exactly one ledger transaction, which agrees with the answer; a repetition of the
   request got the same answer, and the registry still remembers it.
2. A refused operation has none, and no transfer stands in the ledger that nobody asked for.
3. An operation without an answer has none or one.
4. The postings of a transaction sum to zero, and the issued units are those that the accounts hold.
5. A balance is the sum of its postings and of its events, at every step, and never negative.
6. Each ledger transaction has one event that moves the same amounts; no sequence number appears twice.
7. A bootstrap token makes one agent and a developer gets one genesis grant.

It reads tables and history alone, and shares no code with the service. A transfer carries its key as its message, so
that it is found in the ledger without the table of remembered answers.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import asyncpg

from tests.operation.history import Operation

SHOWN_AT_MOST = 5


@dataclass(frozen=True)
class Finding:
    """A broken condition, by its number, with an example."""

    condition: int
    trouble: str


_KNOWN_TRANSFERS = """
CREATE TEMP TABLE known_transfer (
  key text PRIMARY KEY, payer text, payee text, amount text, outcome text, answer text
) ON COMMIT DROP
"""

_KNOWN_CREATIONS = """
CREATE TEMP TABLE known_creation (token_sha256 bytea, outcome text, did text) ON COMMIT DROP
"""

_HELD = """
CREATE TEMP TABLE held ON COMMIT DROP AS
SELECT a.id, a.did, b.bucket, b.units FROM ledger_account a
CROSS JOIN LATERAL (VALUES ('liquid', a.liquid), ('staked', a.staked)) AS b (bucket, units)
"""

# A row of the journal stands for one event or for those of a transfer.
_RECORDED = """
CREATE TEMP TABLE recorded_event ON COMMIT DROP AS
SELECT x.* FROM journal_event e CROSS JOIN LATERAL journal_expand(e) x
"""

_QUERIES: tuple[tuple[int, str, str], ...] = (
    (
        1,
        "an acknowledged transfer is in the ledger some other number of times than once",
        """
        SELECT key, count(t.id) FROM known_transfer k LEFT JOIN ledger_transaction t ON t.message = k.key
        WHERE outcome = 'acknowledged' GROUP BY key HAVING count(t.id) <> 1
        """,
    ),
    (
        1,
        "the ledger says something else than the answer",
        """
        SELECT k.key, t.id, k.answer FROM known_transfer k JOIN ledger_transaction t ON t.message = k.key
        JOIN ledger_account payer ON payer.id = t.payer_id JOIN ledger_account payee ON payee.id = t.payee_id
        CROSS JOIN LATERAL (SELECT k.answer::jsonb AS said) said
        WHERE outcome = 'acknowledged' AND (
          said ->> 'transaction_id', said ->> 'sender_agent_id', said ->> 'receiver_agent_id',
          (said ->> 'amount')::numeric, (said ->> 'fee_amount')::numeric, k.payer, k.payee, k.amount::numeric
        ) IS DISTINCT FROM (
          'tx-' || t.id, payer.did, payee.did, t.amount / 1e8, t.fee / 1e8, payer.did, payee.did, t.amount / 1e8
        )
        """,
    ),
    (
        1,
        "the balance in the answer is not the one the ledger led to",
        """
        SELECT k.key, k.answer, p.balance_after FROM known_transfer k
        JOIN ledger_transaction t ON t.message = k.key
        JOIN ledger_posting p ON p.tx_id = t.id AND p.account_id = t.payer_id
        WHERE outcome = 'acknowledged'
          AND (k.answer::jsonb ->> 'new_sender_balance')::numeric <> p.balance_after / 1e8
        """,
    ),
    (
        1,
        "the remembered receipt is missing or another one than was given",
        """
        SELECT k.key, k.answer, i.answer FROM known_transfer k
        CROSS JOIN LATERAL (SELECT k.answer::jsonb AS said) said
        LEFT JOIN plumbing_idempotency i ON i.scope_sha256
          = sha256(convert_to(concat_ws(E'\n', k.payer, '/teg/transfer', k.key), 'UTF8'))
        WHERE outcome = 'acknowledged' AND i.answer IS DISTINCT FROM concat_ws(' ',
          substr(said ->> 'transaction_id', 4),
          ((said ->> 'fee_amount')::numeric * 1e8)::bigint, ((said ->> 'new_sender_balance')::numeric * 1e8)::bigint,
          (extract(epoch FROM (said ->> 'timestamp')::timestamptz) * 1e6)::bigint)
        """,
    ),
    (
        1,
        "an acknowledged agent is not there",
        """
        SELECT c.did FROM known_creation c LEFT JOIN agents_agent a ON a.did = c.did
        LEFT JOIN ledger_account l ON l.did = c.did LEFT JOIN recorded_event e
          ON e.event_type = 'AgentOnboarded' AND e.aggregate_id = c.did
        WHERE c.did IS NOT NULL GROUP BY c.did
        HAVING count(a.id) <> 1 OR count(l.id) <> 1 OR count(e.seq) <> 1
        """,
    ),
    (
        2,
        "a refused transfer is in the ledger",
        """
        SELECT k.key, t.id FROM known_transfer k JOIN ledger_transaction t ON t.message = k.key
        WHERE outcome = 'refused'
        """,
    ),
    (
        2,
        "a refused creation used its bootstrap token up",
        """
        SELECT token_sha256 FROM known_creation JOIN agents_bootstrap_token t USING (token_sha256)
        WHERE outcome = 'refused' AND t.used_at IS NOT NULL
        """,
    ),
    (
        2,
        "a transfer is in the ledger that nobody asked for",
        """
        SELECT t.id, t.message FROM ledger_transaction t LEFT JOIN known_transfer k ON k.key = t.message
        WHERE t.tx_type = 'transfer' AND k.key IS NULL
        """,
    ),
    (
        3,
        "a transfer without an answer is in the ledger more than once",
        """
        SELECT key, count(*) FROM known_transfer k JOIN ledger_transaction t ON t.message = k.key
        WHERE outcome = 'unknown' GROUP BY key HAVING count(*) > 1
        """,
    ),
    (
        4,
        "the postings of a transaction do not sum to what it makes, destroys or moves",
        """
        SELECT t.id, t.tx_type, sum(p.delta) FROM ledger_transaction t LEFT JOIN ledger_posting p ON p.tx_id = t.id
        GROUP BY t.id HAVING coalesce(sum(p.delta), -1)
          <> CASE t.tx_type WHEN 'issue' THEN t.amount WHEN 'destroy' THEN -t.amount ELSE 0 END
        """,
    ),
    (
        4,
        "a posting belongs to no transaction",
        """
        SELECT p.tx_id, p.account_id FROM ledger_posting p LEFT JOIN ledger_transaction t ON t.id = p.tx_id
        WHERE t.id IS NULL
        """,
    ),
    (
        4,
        "the accounts hold another sum than was issued and not destroyed",
        """
        SELECT held, supply FROM (SELECT sum(units) AS held FROM held) h,
          (SELECT sum(CASE tx_type WHEN 'issue' THEN amount ELSE -amount END) AS supply FROM ledger_transaction
            WHERE tx_type IN ('issue', 'destroy')) s
        WHERE held IS DISTINCT FROM supply
        """,
    ),
    (
        5,
        "a balance is not the sum of its postings",
        """
        SELECT h.did, h.bucket, h.units, sum(p.delta) FROM held h
        LEFT JOIN ledger_posting p ON p.account_id = h.id AND p.bucket = h.bucket
        GROUP BY h.did, h.bucket, h.units HAVING h.units <> coalesce(sum(p.delta), 0)
        """,
    ),
    (
        5,
        "a balance is not the sum of its events",
        """
        WITH moved AS (
          SELECT entry ->> 'account' AS did, entry ->> 'bucket' AS bucket,
            sum((entry ->> 'delta')::numeric * 1e8) AS delta
          FROM recorded_event, jsonb_array_elements(data -> 'entries') AS entry
          WHERE event_type = 'LedgerBalanceChanged' GROUP BY 1, 2
        )
        SELECT did, bucket, h.units, m.delta FROM held h FULL JOIN moved m USING (did, bucket)
        WHERE coalesce(h.units, -1) <> coalesce(m.delta, 0)
        """,
    ),
    (
        5,
        "the balance after a posting does not follow from the one before",
        """
        SELECT account_id, tx_id, balance_after, running FROM (
          SELECT *, sum(delta) OVER (PARTITION BY account_id, bucket ORDER BY tx_id) AS running FROM ledger_posting
        ) p WHERE balance_after <> running
        """,
    ),
    (5, "a balance is negative", "SELECT did, bucket, units FROM held WHERE units < 0"),
    (
        6,
        "a ledger transaction has some other number of events than one",
        """
        SELECT t.id, count(e.seq) FROM ledger_transaction t LEFT JOIN recorded_event e
          ON e.event_type = 'LedgerBalanceChanged' AND (e.data ->> 'tx_id')::bigint = t.id
        GROUP BY t.id HAVING count(e.seq) <> 1
        """,
    ),
    (
        6,
        "an event names a transaction that is not there",
        """
        SELECT e.seq FROM recorded_event e LEFT JOIN ledger_transaction t ON t.id = (e.data ->> 'tx_id')::bigint
        WHERE e.data ? 'tx_id' AND t.id IS NULL
        """,
    ),
    (
        6,
        "an event and its transaction move different amounts",
        """
        WITH published AS (
          SELECT (data ->> 'tx_id')::bigint AS tx_id, entry ->> 'account' AS did, entry ->> 'bucket' AS bucket,
            (entry ->> 'delta')::numeric * 1e8 AS delta, (entry ->> 'balance_after')::numeric * 1e8 AS after
          FROM recorded_event, jsonb_array_elements(data -> 'entries') AS entry
          WHERE event_type = 'LedgerBalanceChanged'
        ), posted AS (
          SELECT p.tx_id, a.did, p.bucket, p.delta::numeric, p.balance_after::numeric AS after
          FROM ledger_posting p JOIN ledger_account a ON a.id = p.account_id
        )
        SELECT * FROM published t FULL JOIN posted p USING (tx_id, did, bucket)
        WHERE (t.delta, t.after) IS DISTINCT FROM (p.delta, p.after)
        """,
    ),
    (
        6,
        "a sequence number appears twice",
        "SELECT seq, count(*) FROM recorded_event GROUP BY seq HAVING count(*) > 1",
    ),
    (
        7,
        "a developer has another number of agents than of used bootstrap tokens",
        """
        SELECT developer_id, agents, used FROM
          (SELECT developer_id, count(*) AS agents FROM agents_agent GROUP BY 1) a
          FULL JOIN (SELECT developer_id, count(*) AS used FROM agents_bootstrap_token
                     WHERE used_at IS NOT NULL GROUP BY 1) t USING (developer_id)
        WHERE agents IS DISTINCT FROM used
        """,
    ),
    (
        7,
        "a bootstrap token was acknowledged twice",
        """
        SELECT token_sha256, count(DISTINCT did) FROM known_creation WHERE outcome = 'acknowledged'
        GROUP BY 1 HAVING count(DISTINCT did) > 1
        """,
    ),
    (
        7,
        "the token of an acknowledged agent is not used up",
        """
        SELECT c.did FROM known_creation c LEFT JOIN agents_bootstrap_token t USING (token_sha256)
        WHERE outcome = 'acknowledged' AND t.used_at IS NULL
        """,
    ),
    (
        7,
        "a developer got some other number of genesis grants than one",
        """
        SELECT a.developer_id, count(t.id) FROM agents_agent a JOIN ledger_account l ON l.did = a.did
        LEFT JOIN ledger_transaction t ON t.payee_id = l.id AND t.tx_type = 'grant'
        GROUP BY 1 HAVING count(t.id) <> 1
        """,
    ),
)


async def find_what_is_wrong(
    connection: "asyncpg.Connection[asyncpg.Record]", operations: Sequence[Operation]
) -> list[Finding]:
    """Every broken condition; empty when nothing was lost and nothing was made up."""
    findings = [*_different_repetitions(operations)]
    async with connection.transaction():
        await connection.execute(_HELD)
        await connection.execute(_RECORDED)
        await _load(connection, operations)
        for condition, error, query in _QUERIES:
            rows = await connection.fetch(query)
            findings += [Finding(condition, f"{error}: {dict(row)}") for row in rows[:SHOWN_AT_MOST]]
    return findings


def rude_answers(operations: Sequence[Operation]) -> list[str]:
    """Answers that no trouble excuses: a 5xx other than 503, or a 503 or 429 that does not say when to come back."""
    answers = [attempt.answer for operation in operations for attempt in operation.attempts if attempt.answer]
    return [
        f"{answer.status} {answer.text}"
        for answer in answers
        if answer.status >= 500 or answer.status == 429
        if answer.status not in {503, 429} or not answer.retry_after
    ]


def _different_repetitions(operations: Sequence[Operation]) -> list[Finding]:
    return [
        Finding(1, f"a repetition was not answered as such: {operation.key}")
        for operation in operations
        if operation.kind == "transfer"
        if len({answer.text for answer in operation.successes}) > 1
        or sum(not answer.replayed for answer in operation.successes) > 1
    ]


async def _load(connection: "asyncpg.Connection[asyncpg.Record]", operations: Sequence[Operation]) -> None:
    await connection.execute(_KNOWN_TRANSFERS)
    await connection.execute(_KNOWN_CREATIONS)
    transfers = [operation for operation in operations if operation.kind == "transfer"]
    creations = [operation for operation in operations if operation.kind == "create_agent"]
    await connection.copy_records_to_table(
        "known_transfer",
        records=[
            (
                one.key,
                one.request["payer"],
                one.request["payee"],
                one.request["amount"],
                one.outcome,
                one.successes[0].text if one.successes else None,
            )
            for one in transfers
        ],
    )
    await connection.copy_records_to_table(
        "known_creation",
        records=[(bytes.fromhex(one.key), one.outcome, did) for one in creations for did in _dids(one)],
    )
    await connection.execute("ANALYZE known_transfer")
    await connection.execute("ANALYZE known_creation")


def _dids(creation: Operation) -> list[str | None]:
    return [json.loads(answer.text)["agent_did"] for answer in creation.successes] or [None]
