"""Many more transfers are offered than the book takes: the excess is refused at once, and nothing is lost."""

from collections import Counter, deque
from random import Random
from time import monotonic

import httpx2
import pytest

from hansa.rooms.ledger import GROUP_COMMIT, batch
from hansa.rooms.ledger.batch import Ticket
from tests.properties.proof import prove_book
from tests.properties.scale import by_tier, printed_seed
from tests.registry import StartRegistry, TestAgent, TestRegistry, at_once

SECONDS = by_tier(2, 60, 600)
WAITING_MAX = 20
BATCH_MAX = 10
CLIENTS = 10 * (WAITING_MAX + BATCH_MAX)
ASKED_AGAIN = 50


class CountedQueue(deque[Ticket]):
    """A queue that remembers how long it ever was."""

    longest = 0

    def append(self, ticket: Ticket, /) -> None:
        super().append(ticket)
        self.longest = max(self.longest, len(self))


@pytest.fixture
async def registry(start_registry: StartRegistry, monkeypatch: pytest.MonkeyPatch) -> TestRegistry:
    """Registry whose book takes a tenth of the transfers that its clients offer."""
    monkeypatch.setattr(batch, "WAITING_MAX", WAITING_MAX)
    monkeypatch.setattr(batch, "BATCH_MAX", BATCH_MAX)
    return await start_registry(rate_limit_reads="off")


@pytest.fixture
def queue(registry: TestRegistry) -> CountedQueue:
    """The queue of the book of this registry."""
    group = GROUP_COMMIT.of(registry.runtime)
    group._waiting = CountedQueue()
    return group._waiting


async def test_what_does_not_fit_is_refused_with_retry_after_and_nothing_is_lost(
    registry: TestRegistry, queue: CountedQueue
):
    random = Random(printed_seed())
    parties = [await registry.agent() for _ in range(4)]
    answers: dict[str, httpx2.Response] = {}
    orders: dict[str, tuple[TestAgent, TestAgent]] = {}

    async def client(number: int) -> None:
        end, sent = monotonic() + SECONDS, 0
        while monotonic() < end:
            key, sent = f"{number}-{sent}", sent + 1
            orders[key] = payer, payee = tuple(random.sample(parties, 2))
            answers[key] = await payer.transfer(payee, "0.00001", key=key, message=key)

    await at_once(*(client(number) for number in range(CLIENTS)))
    statuses = Counter(answer.status_code for answer in answers.values())
    assert set(statuses) == {200, 503}
    refused = [key for key, answer in answers.items() if answer.status_code == 503]
    assert all(int(answers[key].headers["retry-after"]) >= 1 for key in refused)
    assert queue.longest == WAITING_MAX
    assert await _done(registry) == answers.keys() - set(refused)

    again = random.sample(refused, min(len(refused), ASKED_AGAIN))
    for key in again:
        payer, payee = orders[key]
        assert (await payer.transfer(payee, "0.00001", key=key, message=key)).status_code == 200
    assert await _done(registry) == (answers.keys() - set(refused)) | set(again)
    assert (await registry.supply())["delta"] == "0"
    await registry.database.query(prove_book)
    print(f"{dict(statuses)}, at most {queue.longest} waiting")


async def _done(registry: TestRegistry) -> set[str]:
    """The keys of the transfers in the ledger, each of them once."""
    rows = await registry.database.query(
        lambda tx: tx.fetch("SELECT message FROM ledger_transaction WHERE tx_type = 'transfer'")
    )
    keys = [row["message"] for row in rows]
    assert len(keys) == len(set(keys))
    return set(keys)
