"""Argon2id, off the event loop, two at a time: each takes 19 MiB and a whole core for some 20 ms.

The threads have a lower priority than everything else in the process, so that a storm of logins slows logins alone. Only so many wait:
one more is refused with a time to retry, rather than made to wait longer than anybody does.

How often anybody may try the password of one account, wherever they come from.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pwdlib.hashers.argon2 import Argon2Hasher

from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.telemetry.metrics import passwords_waiting
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.plumbing.web.limits import Limit, admit
from hansa.foundation.values.secrets import fingerprint

from . import store
from .errors import TooManyPasswords, WrongPassword

MEMORY_KIB = 19 * 1024
PASSES = 2
LANES = 1
AT_ONCE = 2
WAITING_MAX = 200
COME_BACK_SECONDS = 5
NICENESS = 10
_hasher = Argon2Hasher(time_cost=PASSES, memory_cost=MEMORY_KIB, parallelism=LANES)
_Answer = TypeVar("_Answer")
# A hash that no known password has: an unknown account costs as much work as a known one.
NOBODYS_HASH = f"$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={LANES}${'A' * 22}${'A' * 43}"

PER_ACCOUNT = Limit("login-account", 10)


async def hashed(password: str) -> str:
    """The PHC string to keep in place of the password. Raises: TooManyPasswords."""
    return await _off_the_loop(lambda: _hasher.hash(password))


async def matches(password: str, password_hash: str) -> bool:
    """Return whether the hash was made from this password. Raises: TooManyPasswords."""
    return await _off_the_loop(lambda: _hasher.verify(password, password_hash))


def _lower_priority() -> None:
    # Linux keeps the niceness of each thread, under the thread's own number; elsewhere that may be another process.
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


_threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="argon2", initializer=_lower_priority)
_waiting: set[object] = set()


async def _off_the_loop(work: Callable[[], _Answer]) -> _Answer:
    if len(_waiting) >= WAITING_MAX:
        raise TooManyPasswords(retry_after=COME_BACK_SECONDS)
    future = asyncio.get_running_loop().run_in_executor(_threads, work)
    _waiting.add(future)
    passwords_waiting.set(len(_waiting))
    try:
        return await future
    finally:
        _waiting.discard(future)
        passwords_waiting.set(len(_waiting))


async def admit_attempt(database: Database, email: str) -> None:
    """Count one try of the account of that address, known or not. Raises: TooManyRequests."""
    await admit(database, PER_ACCOUNT, account_key(email))


async def prove_password(database: Database, developer: Developer, password: str) -> str:
    """The hash that the password was right for; whoever changes something on the strength of it names it again.

    Raises: WrongPassword, TooManyRequests, TooManyPasswords.
    """
    await admit_attempt(database, developer.email)
    password_hash = await database.read(lambda tx: store.password_hash_of(tx, developer.id))
    if not await matches(password, password_hash):
        raise WrongPassword
    return password_hash


def account_key(email: str) -> str:
    """Return the key under which the attempts on one account count; the address itself is not kept for it."""
    return fingerprint(email.lower()).hex()
