"""The audit compares the requests of organizations with their references in the ledger, one to one."""

import pytest

from hansa.rooms.auditor.cycle import audit_on_request
from tests.organizations import found
from tests.treasuries import fund, pay


@pytest.fixture
async def paid(start_registry):
    """A payment of a treasury by its request."""
    registry = await start_registry()
    guild = await found(registry)
    await fund(guild)
    request = (await pay(guild, await registry.agent(), "10")).json()
    assert request["status"] == "EXECUTED"
    return registry, request


async def audited(registry):
    return await registry.database.transaction(audit_on_request, one_snapshot=True)


async def changed(registry, statement, *values):
    await registry.database.transaction(lambda tx: tx.execute(statement, *values))


async def test_executed_requests_and_references_belong_together(paid):
    registry, _ = paid
    verdict = await audited(registry)
    assert (verdict.status, verdict.findings["requests"]) == ("OK", [])


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE organizations_request SET tx_id = NULL, status = 'CANCELLED' WHERE id = $1::text::uuid",
        "UPDATE organizations_request SET amount = amount - 1 WHERE id = $1::text::uuid",
        "UPDATE organizations_request SET tx_id = tx_id - 1 WHERE id = $1::text::uuid",
    ],
)
async def test_a_payment_without_its_request_and_a_request_without_its_payment_are_a_breach(paid, statement):
    registry, request = paid
    await changed(registry, statement, request["request_id"])
    verdict = await audited(registry)
    assert (verdict.status, verdict.checks["transactions"]) == ("BREACH", "BREACH")
    assert request["request_id"] in verdict.findings["requests"][0]
