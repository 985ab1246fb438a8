"""ledger/batch: processor time of the server's backend for a batch of transfers with keys, by its size; its fixed part and that of each."""

import asyncio
import random
from statistics import linear_regression, median
from uuid import uuid4

import asyncpg

from bench.figures import Figures
from bench.process_cpu import seconds_run
from bench.seed import bench_runtime, seed_agents, sound_between, temporary_directory, use_log
from hansa.foundation.plumbing.storage.connection import SERVER_SETTINGS
from hansa.foundation.plumbing.web.idempotency import Repeatable
from hansa.foundation.values.money import UNIT, Minor
from hansa.rooms import ledger
from hansa.rooms.ledger import batch

ACCOUNTS = 10_000
SIZES = (1, 4, 8, 16, 32, 64)
BATCHES = 50
ROUNDS, ROUNDS_IN_FULL = 5, 20
# The backend goes to rest after it has answered; only then is all of its time counted.
REST_SECONDS = 0.01


async def run(*, full: bool) -> Figures:
    figures = Figures()
    rounds = ROUNDS_IN_FULL if full else ROUNDS
    async with temporary_directory() as directory, bench_runtime(directory) as runtime:
        dids = await seed_agents(runtime, ACCOUNTS)
        await use_log(runtime)
        book = ledger.Book.of(runtime.settings)
        connection = await asyncpg.connect(runtime.database.dsn, server_settings=SERVER_SETTINGS)
        backend: int = await connection.fetchval("SELECT pg_backend_pid()")

        async def microseconds_of_a_batch(size: int) -> float:
            given = [[_ticket(dids) for _ in range(size)] for _ in range(BATCHES)]
            before = seconds_run(backend)
            for tickets in given:
                await batch.post_batch(connection, tickets, book)
            await asyncio.sleep(REST_SECONDS)
            return (seconds_run(backend) - before) / BATCHES * 1e6

        # The first calls plan the statements.
        await microseconds_of_a_batch(SIZES[0])
        samples: dict[int, list[float]] = {size: [] for size in SIZES}
        for _ in range(rounds):
            for size in SIZES:
                samples[size].append(await microseconds_of_a_batch(size))
        await connection.close()
        for size in SIZES:
            figures.add(f"a batch of {size}", "us", samples[size])
        line = linear_regression(SIZES, [median(samples[size]) for size in SIZES])
        figures.notes.append(f"{line.intercept:.0f} us a batch and {line.slope:.1f} us each transfer")
        made = BATCHES * (SIZES[0] + rounds * sum(SIZES))
        figures.books_are_sound = await sound_between(runtime, made, made)
    return figures


def _ticket(dids: list[str]) -> batch.Ticket:
    payer, payee = random.sample(dids, 2)
    order = ledger.TransferOrder(payer, payee, Minor(UNIT // 100))
    request = Repeatable(payer, "/teg/transfer", str(uuid4()), {"to": payee})
    return batch.Ticket.of_transfer(order, request, lambda _: "")
