"""A process that works for one token, until a line arrives on its standard input. `python -m tests.client.working_process URL TOKEN`."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from dataclasses import dataclass

from hansa_client.service.store import Answer, Claim, Payment, Work, open_store


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
