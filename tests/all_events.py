"""All events of the journal: a row stands for one, or for those of a transfer."""

import json

import jsonschema_rs

from hansa.foundation.events import event_types
from hansa.foundation.events.schemas import event_schema
from hansa.foundation.plumbing.storage.database import Database

ALL_EVENTS = "(SELECT x.* FROM journal_event e CROSS JOIN LATERAL journal_expand(e) x)"
"""A relation without a name. Its alias is the caller's, and PostgreSQL 15 requires one."""

# Members that only some events have: those with another registry, and those of a child.
OF_SOME = {
    "A2APaymentSettled": {"transfer_id"},
    "AgentOnboarded": {"parent_did"},
    "LedgerBalanceChanged": {"counterparty_frame"},
    "DisputeSlash": {"counterparty_frame", "settlement_id"},
    "DisputeCompensationMinted": {"counterparty_frame", "counterparty_tx_id", "settlement_id"},
}


async def require_schemas_kept(database: Database, *expected: str) -> set[str]:
    """Require every event of the journal to keep to its schema, and these kinds to be there. Return the kinds that are."""
    rows = await database.query(lambda tx: tx.fetch(f"SELECT event_type, data FROM {ALL_EVENTS} e"))
    held = {kind.__name__: event_schema(kind) for kind in event_types()}
    for row in rows:
        schema, data = held[row["event_type"]], json.loads(row["data"])
        jsonschema_rs.validate(schema, data)
        left_out = OF_SOME.get(row["event_type"], set()) - data.keys()
        assert data.keys() | left_out == schema["properties"].keys(), row["event_type"]
    seen = {row["event_type"] for row in rows}
    assert seen >= set(expected)
    return seen
