"""Processes that verify proofs: one for each proof, so that none outlives its proof and a crash ends one proof alone.

A process starts in about 0.2 s and verifies for 0.5 s. The event loop waits for it; the request is refused when it does not end in
time, and the process is killed. Proofs wait in a queue, in which each developer has at most WAITING_OF_ONE places.
"""

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import structlog

from hansa.foundation.plumbing.process.runtime import Slot

from .errors import ProofsWaiting, VerifierUnavailable

AT_ONCE = 1
WAITING_MAX = 16
WAITING_OF_ONE = 2
SECONDS_MAX = 20.0
"""For one proof, with the start of the process."""
RETRY_SECONDS = 5
_PROGRAM = (sys.executable, "-I", str(Path(__file__).with_name("groth16.py")))
_log = structlog.get_logger(__name__)


class Verifier:
    """The verifying processes of one serving process."""

    def __init__(self, program: tuple[str, ...] = _PROGRAM, seconds_max: float = SECONDS_MAX) -> None:
        self._program, self._seconds_max = program, seconds_max
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._present: Counter[int] = Counter()

    @contextmanager
    def place(self, developer_id: int) -> Iterator[None]:
        """Hold a place in the queue for a developer, or for an agent of one. Raises: ProofsWaiting, VerifierUnavailable."""
        if self._present[developer_id] >= WAITING_OF_ONE:
            raise ProofsWaiting(retry_after=RETRY_SECONDS)
        if self._present.total() >= WAITING_MAX:
            raise VerifierUnavailable(retry_after=RETRY_SECONDS)
        self._present[developer_id] += 1
        try:
            yield
        finally:
            self._present[developer_id] -= 1
            if not self._present[developer_id]:
                del self._present[developer_id]

    async def refusal_of(self, task: Mapping[str, Any]) -> str | None:
        """The reason for which a key or a proof is refused, None where it holds; the caller holds a place. Raises: VerifierUnavailable."""
        async with self._turn:
            return await self._answer(json.dumps(task).encode())

    async def _answer(self, task: bytes) -> str | None:
        process = await asyncio.create_subprocess_exec(
            *self._program, stdin=PIPE, stdout=PIPE, stderr=DEVNULL
        )
        try:
            async with asyncio.timeout(self._seconds_max):
                answer, _ = await process.communicate(task)
            refusal: str | None = json.loads(answer)["refusal"]
        # uvloop raises RuntimeError for a process that ended before it was written to.
        except (TimeoutError, ValueError, LookupError, TypeError, OSError, RuntimeError) as error:
            _log.warning("a process that verifies proofs gave no answer", cause=type(error).__name__)
            raise VerifierUnavailable(retry_after=RETRY_SECONDS) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return refusal


VERIFIER: Slot[Verifier] = Slot("proofs: verifier", build=lambda _: Verifier())
"""The verifier of this process."""
