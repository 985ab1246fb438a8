"""Notice of a breach: a mail and the webhook `supply.breach` for administrators of the treasury, in the cycle that finds it."""

import json
from typing import Any

import pytest

from hansa.rooms import auditor
from hansa.rooms.auditor.alarm import KIND, NOTICE
from tests.registry import StartRegistry, TestDeveloper, text_of
from tests.rooms.ledger.purses import Purses, start_purses
from tests.running_jobs import jobs_of, run_due

SUBJECT = "Breach of the supply"


@pytest.fixture
async def purses(start_registry: StartRegistry) -> Purses:
    return await start_purses(start_registry)


async def cycle(purses: Purses) -> Any:
    return await purses.registry.database.transaction(auditor.audit, one_snapshot=True)


async def plant(purses: Purses, did: str, units: int) -> None:
    await purses.execute("UPDATE ledger_account SET liquid = liquid + $2 WHERE did = $1", did, units)


async def hook(developer: TestDeveloper, *types: str) -> None:
    body = {"url": "https://receiver.example.com/hook", "event_types": list(types)}
    answer = await developer.registry.post("/developers/webhooks", json=body, headers=developer.headers)
    assert answer.status_code in {200, 201}, answer.text


async def notified(purses: Purses) -> list[tuple[str, dict[str, Any]]]:
    """The addresses of those whose webhooks are notified, with what they get."""
    rows = await purses.registry.database.query(
        lambda tx: tx.fetch(
            "SELECT d.email, w.payload FROM notifications_webhook_delivery w"
            " JOIN notifications_webhook h ON h.id = w.webhook_id JOIN people_developer d ON d.id = h.developer_id"
            " WHERE w.event_type = 'supply.breach' ORDER BY d.email"
        )
    )
    return [(row["email"], json.loads(row["payload"])["data"]) for row in rows]


async def mails(purses: Purses) -> list[Any]:
    return [mail for mail in await purses.registry.outbox() if mail["Subject"] == SUBJECT]


async def test_a_breach_mails_the_administrators_of_the_treasury_and_fires_their_webhooks(purses: Purses):
    registry = purses.registry
    treasurer = await registry.administrator("admin_treasury")
    platform, owner = await registry.administrator("admin_platform"), await registry.developer()
    for one in (treasurer, platform, owner):
        await hook(one, "*")
    agent = await purses.agent("10")
    await cycle(purses)
    assert await jobs_of(registry.runtime, KIND) == []
    await plant(purses, agent.did, 1)
    verdict = await cycle(purses)
    [job] = await jobs_of(registry.runtime, KIND)
    assert job["key"] == str(verdict.id)
    await run_due(registry.runtime, NOTICE)
    [(email, data)] = await notified(purses)
    assert (email, data["verdict_id"], data["delta"]) == (treasurer.email, verdict.id, "-0.00000001")
    assert "findings" not in data
    [mail] = await mails(purses)
    assert mail["To"] == treasurer.email
    assert "-0.00000001" in text_of(mail)
    assert "supply: BREACH" in text_of(mail)


async def test_a_breach_that_lasts_is_notified_once_and_another_one_again(purses: Purses):
    await purses.registry.administrator("admin_treasury")
    agent = await purses.agent("10")
    await plant(purses, agent.did, 1)
    for _ in range(3):
        await cycle(purses)
    assert len(await mails(purses)) == 1
    await plant(purses, agent.did, 1)
    await cycle(purses)
    assert len(await mails(purses)) == 2


async def test_a_cycle_that_is_undone_notifies_nobody(purses: Purses):
    await purses.registry.administrator("admin_treasury")
    agent = await purses.agent("10")
    await plant(purses, agent.did, 1)

    async def undone(tx: Any) -> None:
        await auditor.audit(tx)
        raise LookupError

    with pytest.raises(LookupError):
        await purses.registry.database.transaction(undone, one_snapshot=True)
    assert await mails(purses) == []
