"""Processes that share the store of a paid service. `python -m tests.client.working_process URL TOKEN` is one that works for one token,
until a line arrives on its standard input.
"""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from hansa_client.service.store import Answer, Claim, Payment, Store, Work, open_store


@dataclass
class WorkingProcess:
    """The process, as a test sees it."""

    process: Process

    @classmethod
    async def start(cls, url: str, token_hash: str) -> "WorkingProcess":
        """Returns once the work has begun."""
        command = (sys.executable, "-m", "tests.client.working_process", url, token_hash)
        process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
        assert process.stdout
        assert await process.stdout.readline() == b"running\n"
        return cls(process)

    async def finish(self) -> str:
        """`stored`, or `refused` where the work was given up."""
        said, _ = await self.process.communicate(b"\n")
        return said.decode().strip()


Open = Callable[[], Awaitable[Store]]


@asynccontextmanager
async def opening(url: str) -> AsyncIterator[Open]:
    """Opens one more view of the same store at each call, which counts as one more process."""
    stores: list[Store] = []

    async def open_one() -> Store:
        stores.append(open_store(url))
        await stores[-1].open()
        return stores[-1]

    try:
        yield open_one
    finally:
        for store in stores:
            await store.close()


async def work(url: str, token_hash: str) -> None:
    store = open_store(url)
    await store.open()
    entry = await store.claim(Claim(token_hash, f"use.{token_hash}", store.new_owner(), "f", 1.0))
    await store.start(token_hash, entry.owner, Work("{}", Payment.HELD, b"sealed token"))
    print("running", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    answer = Answer(b"sealed answer", Payment.CAPTURE, None)
    print("stored" if await store.finish(token_hash, entry.owner, answer) else "refused", flush=True)
    await store.close()


if __name__ == "__main__":
    asyncio.run(work(*sys.argv[1:]))
