"""Values in force for a transaction, and every governed setting with its source."""

from datetime import datetime, timedelta
from typing import Annotated, Literal

import msgspec
from fastapi import Depends

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import GOVERNED, Bounds, Knowledge, Settings, Turn, Value
from hansa.foundation.plumbing.storage.database import Tx

from . import store

Source = Literal["default", "environment", "governance"]


class Scheduled(msgspec.Struct, frozen=True):
    """Value that a setting has from a later moment on."""

    value: Value
    at: datetime


class Parameter(msgspec.Struct, frozen=True):
    """Governed setting with its value in force, its source, its bounds and its pending change."""

    name: str
    value: Value
    source: Source
    bounds: Bounds
    scheduled: Scheduled | None


async def in_force(tx: Tx, settings: Settings) -> Settings:
    """Return the settings with the governed values in force at now() of the transaction.

    The knowledge of the process decides, and the table of the changes where it may be incomplete.
    """
    at, knowledge = await store.unless_known(tx, settings.governed.knowledge)
    overlay = knowledge.overlay(at)
    return settings.model_copy(update=overlay) if overlay else settings


async def _settings_in_force(database: Db, settings: Config) -> Settings:
    return await database.query(lambda tx: in_force(tx, settings))


InForce = Annotated[Settings, Depends(_settings_in_force)]
"""Settings as they are in force when the request arrives, for an answer that shows them."""


async def in_force_at(tx: Tx, settings: Settings, moment: datetime) -> Settings:
    """Return the settings with the governed values that were in force at a moment that has passed."""
    overlay = await store.at(tx, moment)
    return settings.model_copy(update=overlay) if overlay else settings


async def turns(tx: Tx) -> tuple[Turn, ...]:
    """Return every change that was decided and not withdrawn, by its moment."""
    _, decided = await store.decided(tx)
    return tuple(one.turn for one in decided)


async def end_of_windows(tx: Tx, settings: Settings, name: str, unit: timedelta) -> datetime:
    """Return the end of the last window that has begun, each as long as the setting said at its beginning, in units."""
    now, decided = await store.decided(tx)
    turns = [one.turn for one in decided if one.turn.name == name and one.turn.at <= now]
    stated = settings.governed.stated[name]
    values = [stated, *(stated if turn.value is None else turn.value for turn in turns)]
    ends = [*(turn.at for turn in turns), now]
    return max(end + int(value) * unit for end, value in zip(ends, values, strict=True))


async def current(tx: Tx, settings: Settings) -> list[Parameter]:
    """Return every governed setting at now() of the transaction, by name."""
    at, decided = await store.decided(tx)
    governed = Knowledge(tuple(one.turn for one in decided)).overlay(at)
    pending = {one.turn.name: one.turn for one in decided if one.turn.at > at}

    def parameter(name: str, stated: Value) -> Parameter:
        source: Source = "environment" if name in settings.model_fields_set else "default"
        scheduled = _scheduled(pending[name], stated) if name in pending else None
        if name in governed:
            return Parameter(name, governed[name], "governance", GOVERNED[name], scheduled)
        return Parameter(name, stated, source, GOVERNED[name], scheduled)

    return [parameter(name, stated) for name, stated in sorted(settings.governed.stated.items())]


def _scheduled(turn: Turn, stated: Value) -> Scheduled:
    return Scheduled(stated if turn.value is None else turn.value, turn.at)
