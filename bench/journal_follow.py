"""journal/follow: events published to a stream of NATS by `hansa journal follow`, the server of Debian's package, one follower."""

import time
from pathlib import Path

from bench.figures import Figures
from bench.seed import bench_runtime, temporary_directory
from hansa.doors.journal_following import Follower, Target
from hansa.foundation.events import AgentOnboarded
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.rooms import journal
from tests.operation.nats_server import nats_server

EVENTS, EVENTS_FULL = 50_000, 1_000_000
TOGETHER = 1000


async def run(*, full: bool) -> Figures:
    figures = Figures()
    count = EVENTS_FULL if full else EVENTS
    async with temporary_directory() as directory, bench_runtime(directory) as runtime:
        for first in range(0, count, TOGETHER):
            await _append(runtime, first)
        async with nats_server(Path(directory) / "nats") as server:
            follower = Follower(
                runtime.database, Target(server.url, "HANSA_JOURNAL", "hansa.journal"), "bench"
            )
            began, used = time.perf_counter(), time.process_time()
            await follower.run(until_caught_up=True)
            seconds, work = time.perf_counter() - began, time.process_time() - used
        figures.add("events published and acknowledged", "/s", [follower.count / seconds])
        figures.add("processor time of the follower", "us an event", [work * 1e6 / follower.count])
        figures.books_are_sound = follower.count >= count
    return figures


async def _append(runtime: Runtime, first: int) -> None:
    events = [
        AgentOnboarded(f"did:hansa:hansa.local:bench-{first + number}", "card", False, "disabled")
        for number in range(TOGETHER)
    ]
    await runtime.database.transaction(lambda tx: journal.append(tx, *events))
