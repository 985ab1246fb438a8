"""Work at the moment at which governed values take effect, such as signing the registry card anew."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from hansa.foundation.plumbing.jobs import Job, TransactionalKind
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.database import Tx

EFFECT = "parameters: take effect"

TakesEffect: TypeAlias = Callable[[Tx, Runtime], Awaitable[None]]

TAKES_EFFECT: Slot[TakesEffect] = Slot("plumbing: governed values take effect")
"""Filled by the room whose documents state governed values."""


async def _take_effect(tx: Tx, runtime: Runtime, _: Job) -> None:
    await TAKES_EFFECT.of(runtime)(tx, runtime)


EFFECTS = TransactionalKind(EFFECT, _take_effect)
