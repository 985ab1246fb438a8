"""Transfers between two registries in tests: request them, run the due jobs, lose calls, and write messages by hand."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from hansa.foundation.plumbing.outgoing import Answer, HostUnreachable
from hansa.rooms import federation
from hansa.rooms.federation.mailbox import channel
from hansa.rooms.transfers import CROSSING_JOBS
from hansa.rooms.transfers.crossing import store
from hansa.rooms.transfers.crossing.channel import PATH
from hansa.rooms.transfers.crossing.envelope import signed_texts, stored_message
from hansa.rooms.transfers.crossing.messages import Message
from tests.neighbours.two_registries import Neighbour
from tests.registry import TestAgent
from tests.running_jobs import run_due, run_scheduled_transactions, time_passes

DELIVERY, DUE, HEADS = CROSSING_JOBS
ACROSS = "/teg/cross-registry-transfer"


async def across(payer: TestAgent, payee: str, amount: object, **more: Any) -> httpx2.Response:
    key = more.pop("key", None)
    headers = {**payer.headers, **({"Idempotency-Key": key} if key else {})}
    body = {"receiver_did": payee, "amount": amount, **more}
    return await payer.registry.post(ACROSS, json=body, headers=headers)


async def run(one: Neighbour, statement: str, *values: object) -> None:
    await one.registry.database.transaction(lambda tx: tx.execute(statement, *values))


async def settle(*all_of: Neighbour, rounds: int = 4) -> None:
    """Send and answer the due messages, until both registries have each other's receipts."""
    for _ in range(rounds):
        for one in all_of:
            await run(one, "UPDATE transfers_pair SET ask_at = now() WHERE ask_at IS NOT NULL")
            await sent_once(one)


async def sent_once(one: Neighbour) -> None:
    """Send the pending messages of this registry and apply the answers."""
    await time_passes(one.registry.runtime, 3600)
    for table in ("transfers_sent", "transfers_received"):
        await run(one, f"UPDATE {table} SET next_at = now() WHERE next_at IS NOT NULL")
    await run_scheduled_transactions(one.registry.runtime, DUE)
    await run_due(one.registry.runtime, DELIVERY)


async def ask_for_heads(one: Neighbour) -> None:
    await run_scheduled_transactions(one.registry.runtime, HEADS)


async def deadlines_pass(one: Neighbour) -> None:
    await run(one, "UPDATE transfers_sent SET deadline = now()")


async def open_rows(one: Neighbour) -> int:
    count: int = await one.registry.database.query(
        lambda tx: tx.fetchval(
            "SELECT (SELECT count(*) FROM transfers_sent WHERE next_at IS NOT NULL)"
            " + (SELECT count(*) FROM transfers_received WHERE next_at IS NOT NULL)"
        )
    )
    return count


async def crossing_of(one: Neighbour) -> str:
    state: str = await one.registry.database.query(
        lambda tx: tx.fetchval("SELECT crossing FROM transfers_pair")
    )
    return state


async def refusal(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


class LostCalls:
    """Calls between registries of which some are lost: the request, or the answer."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.made = 0
        self.loses: Callable[[int], str | None] = lambda _: None
        right = federation.call_peer

        async def call(*given: Any, **more: Any) -> Answer:
            self.made += 1
            what = self.loses(self.made)
            if what == "request":
                raise HostUnreachable
            answer = await right(*given, **more)
            if what == "answer":
                raise HostUnreachable
            return answer

        for caller in (federation, channel):
            patch.setattr(caller, "call_peer", call)


async def written(one: Neighbour, other: Neighbour, message: Message) -> str:
    """The message as this registry would sign it now, with its true positions."""
    (text,) = await written_at_once(one, other, [message])
    return text


async def written_at_once(one: Neighbour, other: Neighbour, messages: Sequence[Message]) -> list[str]:
    """The texts of several messages, as this registry would sign them now for a registry that reads `transfers`."""
    peer = await one.peer(other)
    assert peer.spiffe_id is not None
    pair = await one.registry.database.query(lambda tx: store.find_pair(tx, peer.spiffe_id or ""))
    key = await federation.SIGNATORY.of(one.registry.runtime).present_key()
    return signed_texts(
        key, [replace(message, own=pair.own, seen=pair.seen) for message in messages], together=True
    )


async def said(one: Neighbour, other: Neighbour, *texts: str) -> list[Message]:
    """Return the messages that the other registry answers to these texts."""
    answer = await one.call(other, "POST", PATH, {"messages": list(texts)})
    assert answer.status == 200, answer.body
    return [stored_message(text) for text in json.loads(answer.body)["messages"]]
