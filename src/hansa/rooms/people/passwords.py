"""Argon2id, off the event loop, two at a time: each takes 19 MiB and a whole core for some 20 ms."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pwdlib.hashers.argon2 import Argon2Hasher

MEMORY_KIB = 19 * 1024
PASSES = 2
LANES = 1
AT_ONCE = 2

_hasher = Argon2Hasher(time_cost=PASSES, memory_cost=MEMORY_KIB, parallelism=LANES)
_threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="argon2")
_Answer = TypeVar("_Answer")

# A hash that no known password has: an unknown account costs as much work as a known one.
NOBODYS_HASH = f"$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={LANES}${'A' * 22}${'A' * 43}"


async def hashed(password: str) -> str:
    """The PHC string to keep in place of the password."""
    return await _off_the_loop(lambda: _hasher.hash(password))


async def matches(password: str, password_hash: str) -> bool:
    """Whether the hash was made from this password."""
    return await _off_the_loop(lambda: _hasher.verify(password, password_hash))


async def _off_the_loop(work: Callable[[], _Answer]) -> _Answer:
    return await asyncio.get_running_loop().run_in_executor(_threads, work)
