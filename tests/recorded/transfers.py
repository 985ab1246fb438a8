"""Recorded: transfers by every route, fees, repeated requests, refusals, statements and balances."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import httpx2

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.idempotency import Answer
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor
from hansa.rooms import ledger
from hansa.rooms.ledger import GROUP_COMMIT
from tests.recorded.parties import Parties
from tests.recorded.recorder import Caller, RecordedAgent, Recorder

NOBODY = "did:hansa:hansa.local:00000000-0000-4000-8000-000000000000"
TREASURY, FEE_COLLECTOR = "did:hansa:system:treasury", "did:hansa:system:fee_collector"
MALFORMED_AMOUNTS = (
    "0", "-1", "0.000000001", "1e3", " 1", "1 ", "", "NaN", "1,5", "0x10", "99999999999", 1, 1.5, True, None, ["1"]
)  # fmt: skip


async def pay(
    record: Recorder, payer: Caller, payee: RecordedAgent | str, amount: Any, **more: Any
) -> httpx2.Response:
    """One POST /teg/transfer; `key` and `headers` go with the request, other members into the body."""
    request = {name: more.pop(name) for name in ("key", "headers") if name in more}
    body = {"receiver_agent_id": getattr(payee, "did", payee), "amount": amount, **more}
    return await record.ask("POST", "/teg/transfer", payer, json=body, **request)


async def send(
    record: Recorder, payer: Caller, payee: RecordedAgent | str, amount: Any, **more: Any
) -> httpx2.Response:
    """One POST /teg/send; as `pay`."""
    request = {name: more.pop(name) for name in ("key", "headers") if name in more}
    body = {"receiver_did": getattr(payee, "did", payee), "amount": amount, **more}
    return await record.ask("POST", "/teg/send", payer, json=body, **request)


async def record_transfers(record: Recorder, by: Parties) -> None:
    """Everything about moving units between agents."""
    await _plain(record, by)
    await _repeated(record, by)
    await _refused(record, by)
    await _fees_that_rise(record, by)
    await _batch(record, by)
    await _supply(record, by)


async def _plain(record: Recorder, by: Parties) -> None:
    await record.ask("GET", "/teg/fees/config")
    await record.ask("GET", "/teg/balance", by.alice)
    await pay(record, by.alice, by.bob, "10", message="Invoice 17")
    await pay(record, by.alice, by.alma, "20.12345678")
    await pay(record, by.bob, by.carol, "0.00000001", message="smallest unit")
    await pay(record, by.bob, by.carol, "0.00000100")
    await pay(record, by.bob, by.carol, "0.000003", message='=1+1 "quoted", ünïcode 漢字')
    await pay(record, by.carol, by.alice, "007.50")
    await send(record, by.carol, by.bob, "3", message="by send")
    await send(record, by.carol, by.bob, "3", dry_run=True)
    await send(record, by.carol, by.bob, "3000", dry_run=True)
    await record.ask("POST", "/teg/send", by.carol, json={"recipient_did": by.bob.did, "amount": "1"})
    both = {"recipient_did": by.bob.did, "receiver_did": by.bob.did, "amount": "1", "backend": "2pc"}
    await record.ask("POST", "/teg/send", by.carol, json=both)
    await record.ask("GET", "/teg/fees")
    for agent in (by.alice, by.alma, by.bob, by.carol):
        await record.ask("GET", "/teg/balance", agent)


async def _repeated(record: Recorder, by: Parties) -> None:
    for _ in range(2):
        await pay(record, by.alice, by.bob, "1.5", key="order-1")
        await send(record, by.alice, by.bob, "1.5", key="order-1", message="another route, another scope")
    await pay(record, by.alice, by.bob, "1.50", key="order-1")
    await pay(record, by.alice, by.bob, "1.6", key="order-1")
    await pay(record, by.alice, by.carol, "1.5", key="order-1")
    await pay(record, by.bob, by.alice, "0.25", key="order-1")
    for _ in range(2):
        await pay(record, by.alice, by.bob, "5000", key="order-2")
    await pay(record, by.alice, by.bob, "2", key="order-2")
    for key in ("", "k" * 256, "with blank", "ü"):
        await pay(record, by.alice, by.bob, "1", headers={"Idempotency-Key": key.encode("latin-1")})


async def _refused(record: Recorder, by: Parties) -> None:
    for payee in (NOBODY, by.alice.did, TREASURY, FEE_COLLECTOR, "", "x" * 513, "not a did"):
        await pay(record, by.alice, payee, "1")
        await send(record, by.alice, payee, "1")
    for amount in MALFORMED_AMOUNTS:
        await pay(record, by.alice, by.bob, amount)
    await pay(record, by.alice, by.bob, "49.8")
    await pay(record, by.alice, by.bob, "9999999999.99999999")
    await send(record, by.alice, by.bob, "9999999999")
    await pay(record, by.alice, by.bob, "1", message="m" * 257)
    await send(record, by.alice, by.bob, "1", backend="carrier")
    await send(record, by.alice, by.bob, "1", recipient_did=by.carol.did)
    await record.ask("POST", "/teg/send", by.alice, json={"amount": "1"})
    await record.ask("POST", "/teg/transfer", by.alice, json={"amount": "1"})
    await record.ask("POST", "/teg/transfer", by.alice, json=["1"])
    for content in (b"", b"{", b"null", b'{"amount": "1", "amount": "2"}', b"\xff\xfe"):
        headers = {"Content-Type": "application/json"}
        await record.ask("POST", "/teg/transfer", by.alice, headers=headers, content=content)
    text = {"Content-Type": "text/plain"}
    await record.ask("POST", "/teg/transfer", by.alice, headers=text, content=b'{"amount": "1"}')
    await pay(record, Caller("anyone"), by.bob, "1")
    await pay(record, by.ada, by.bob, "1")
    await pay(record, by.internal, by.bob, "1")
    await record.ask("GET", "/teg/transfer", by.alice)


async def _fees_that_rise(record: Recorder, by: Parties) -> None:
    """Units go to and fro until the payer's turnover passes one and its rate leaves the base."""
    for _ in range(9):
        await pay(record, by.carol, by.bob, "60")
        await pay(record, by.bob, by.carol, "61")
    await send(record, by.carol, by.bob, "5", dry_run=True)
    for _ in range(2):
        await pay(record, by.carol, by.bob, "2.22222222", key="risen")
    await record.ask("GET", "/teg/fees")


async def _batch(record: Recorder, by: Parties) -> None:
    """Transfers that arrive together are decided in their order, in one batch: a later one may spend an earlier one."""
    registry = record.registry
    desk, currency = GROUP_COMMIT.of(registry.runtime), registry.settings.settlement_currency
    orders = [
        ledger.TransferOrder(payer, payee, Minor(amount), message)
        for payer, payee, amount, message in (
            (by.alice.did, by.alma.did, 100_000_000, "first"),
            (by.alma.did, by.bob.did, 2_100_000_000, "spends the first"),
            (by.alma.did, by.bob.did, 2_100_000_000, "not covered any more"),
            (by.bob.did, by.alma.did, 50_000_000, None),
            (by.bob.did, NOBODY, 1, None),
            (NOBODY, by.bob.did, 1, None),
            (by.bob.did, by.bob.did, 1, None),
            (by.bob.did, TREASURY, 1, None),
            (by.alma.did, by.carol.did, 12_345_679, "last"),
        )
    ]

    def render(receipt: ledger.Receipt) -> str:
        return f"{receipt.tx_id} {receipt.amount} {receipt.fee} {receipt.payer_balance_after} {currency}"

    outcomes = await asyncio.gather(
        *(desk.transfer(order, None, render) for order in orders), return_exceptions=True
    )
    for order, outcome in zip(orders, outcomes, strict=True):
        name = f"in a batch: {order.payer} pays {order.amount} to {order.payee}"
        record.note(name, outcome.text if isinstance(outcome, Answer) else outcome)


async def _supply(record: Recorder, by: Parties) -> None:
    """Record the units that the operator issues and destroys, and those that the treasury grants."""
    book = ledger.Book.of(record.registry.settings)
    await record.ask("GET", "/public/supply-invariant")
    for amount, ref in (
        (123_456_789, "budget 1"), (1, "budget 1"), (10**13 + 1, "too large"), (5, " "), (10**13, "budget 2"),
    ):  # fmt: skip
        order = {"amount": Minor(amount), "ref": ref, "amount_max": Minor(10**13), "book": book}
        await _change_supply(record, f"mint {amount}, {ref!r}", partial(ledger.mint, **order))
    for amount, ref in ((23_456_789, "retired 1"), (1, "retired 1"), (10**18, "more than there is")):
        order = {"amount": Minor(amount), "ref": ref, "book": book}
        await _change_supply(record, f"burn {amount}, {ref!r}", partial(ledger.destroy, **order))
    for payee, amount in ((by.alice, 250_00000000), (by.alma, 60_00000000), (by.bob, 1), (by.carol, 10**18)):
        grant = partial(ledger.grant, payee=payee.did, amount=Minor(amount), ref="prize", book=book)
        record.note(f"grant {amount} to {payee.name}", await record.registry.database.transaction(grant))
    await record.ask("GET", "/public/supply-invariant")


async def _change_supply(
    record: Recorder, name: str, use_case: Callable[[Tx], Awaitable[ledger.SupplyChange]]
) -> None:
    try:
        change = await record.registry.database.transaction(use_case)
    except Refused as refusal:
        record.note(name, refusal)
    else:
        record.note(name, {"tx_id": change.tx_id, "amount": change.amount, "supply": change.supply})


async def record_statements(record: Recorder, by: Parties) -> None:
    """Statements, and balances now and then."""
    for agent in (by.alice, by.alma, by.bob, by.carol):
        page = await record.ask("GET", "/teg/transactions?limit=7", agent)
        while following := page.json()["next"]:
            page = await record.ask(
                "GET", "/teg/transactions", agent, params={"limit": 40, "next": following}
            )
    for query in (
        "direction=sent&limit=3", "direction=received&limit=3", "tx_type=grant", "tx_type=stake", "offset=5&limit=2",
        "since=2999-01-01T00:00:00Z", "until=2000-01-01T00:00:00Z", "limit=0", "limit=1001", "next=5", "direction=up",
        "format=xml", "offset=-1", "tx_type=%27--", "since=yesterday",
    ):  # fmt: skip
        await record.ask("GET", f"/teg/transactions?{query}", by.alice)
    await record.ask("GET", "/teg/transactions", by.bob, params={"counterparty": by.carol.did, "limit": 4})
    await record.ask("GET", "/teg/transactions?format=csv", by.carol)
    await record.ask("GET", "/teg/transactions?limit=2", by.bob, headers={"Accept": "text/csv"})
    for timestamp in ("0", "1", "12", "20", "45", "80", "100", "999999", "now", "2000-01-01T00:00:00Z",
                   "2999-01-01T00:00:00Z", "2020-01-01T00:00:00", "-1"):  # fmt: skip
        await record.ask("GET", "/teg/balance", by.alice, params={"as_of": timestamp})
    for agent in (by.alma, by.bob, by.carol):
        for timestamp in (30, 60, 90):
            await record.ask("GET", "/teg/balance", agent, params={"as_of": timestamp})
