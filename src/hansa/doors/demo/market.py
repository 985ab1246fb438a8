"""Two hundred transfers among the agents, and the balances that the demo expects from their answers."""

import asyncio
import random
from collections.abc import Callable
from decimal import Decimal
from uuid import uuid4

import msgspec

from hansa.doors.demo.client import OK, DemoAgent, DemoClient, DemoFailed

TRANSFERS = 200
AT_ONCE = 8
REPEATED_EVERY = 10
PAYMENT_REQUIRED = 402


class Order(msgspec.Struct, frozen=True):
    """One transfer to request."""

    number: int
    payer: DemoAgent
    payee: DemoAgent
    amount: Decimal


class Tally(msgspec.Struct):
    """Expected balances of the demo, by the answers it was given, and counts of its orders."""

    balances: dict[str, Decimal]
    done: int = 0
    repeated: int = 0
    refused: int = 0
    payments: int = 0
    flares: int = 0
    fees: Decimal = msgspec.field(default_factory=Decimal)

    def count(self, order: Order, fee: Decimal) -> None:
        self._move(order.payer.did, order.payee.did, order.amount, fee)
        self.done += 1

    def count_payment(self, payer: str, payee: str, amount: Decimal, fee: Decimal) -> None:
        """Expect the payment of a call or of a milestone."""
        self._move(payer, payee, amount, fee)
        self.payments += 1

    def count_slash(self, did: str, amount: Decimal) -> None:
        """Expect that a ruling destroyed a deposit of an agent."""
        self.balances[did] -= amount

    def count_paid_in(self, payer: str, amount: Decimal, fee: Decimal) -> None:
        """Expect what an agent paid into a treasury."""
        self.balances[payer] -= amount + fee
        self.fees += fee

    def count_paid_out(self, payee: str, amount: Decimal, fee: Decimal) -> None:
        """Expect what a treasury, which pays its own fees, paid an agent."""
        self.balances[payee] += amount
        self.fees += fee

    def count_sale(self, buyer: str, seller: str, amount: Decimal, fee: Decimal) -> None:
        """Expect a trade of points, whose seller pays the fee out of the amount."""
        self.balances[buyer] -= amount
        self.balances[seller] += amount - fee
        self.fees += fee

    def _move(self, payer: str, payee: str, amount: Decimal, fee: Decimal) -> None:
        self.balances[payer] -= amount + fee
        self.balances[payee] += amount
        self.fees += fee


async def trade(
    client: DemoClient, agents: list[DemoAgent], tally: Tally, progress: Callable[[], None]
) -> None:
    """Carry out the transfers, several at once; every tenth request is sent twice and must count once.

    Raises: DemoFailed.
    """
    choice = random.Random(7)  # noqa: S311
    orders = asyncio.Queue[Order]()
    for number in range(TRANSFERS):
        payer, payee = choice.sample(agents, 2)
        orders.put_nowait(Order(number, payer, payee, Decimal(choice.randint(1, 900)) / 100))

    async def work() -> None:
        while not orders.empty():
            await _carry_out(client, tally, orders.get_nowait())
            progress()

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(work())
    except ExceptionGroup as failures:
        # One sentence is printed: the first failure, which ended the others.
        raise failures.exceptions[0] from None


async def _carry_out(client: DemoClient, tally: Tally, order: Order) -> None:
    headers = {**order.payer.headers, "Idempotency-Key": str(uuid4())}
    body = {
        "receiver_agent_id": order.payee.did,
        "amount": str(order.amount),
        "message": f"demo order {order.number}",
    }
    answer = await client.send("/api/v1/teg/transfer", body, headers)
    if answer.status_code == PAYMENT_REQUIRED:
        tally.refused += 1
        return
    if answer.status_code != OK:
        raise DemoFailed(f"a transfer returned {answer.status_code}: {answer.text[:300]}")
    tally.count(order, Decimal(answer.json()["fee_amount"]))
    if order.number % REPEATED_EVERY == 0:
        again = await client.send("/api/v1/teg/transfer", body, headers)
        if again.text != answer.text or again.headers.get("Idempotent-Replayed") != "true":
            raise DemoFailed("a repeated transfer did not return the first response")
        tally.repeated += 1
