"""Ask the witnesses of the own log to cosign its newest checkpoint. No cycle waits for them.

Each witness is asked by itself; what it answers is kept when its cosignature is valid. A witness that knows another size names
it, and is asked once more with a proof from there.
"""

import asyncio
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from time import time

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.outgoing import Answer, CallLimits, OutgoingTrouble
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms.auditor.attestations import published_keys
from hansa.rooms.auditor.transparency import Growth, LogEmpty, prove_growth
from hansa.rooms.auditor.transparency.notes import origin_of
from hansa_verify import (
    LOG_KEY,
    ML_DSA_WITNESS_KEY,
    WITNESS_KEY,
    VerifierKey,
    find_cosignature,
    log,
    read_verifier_key,
)

from . import store
from .peer_logs import peer_witnesses
from .policy import policy_text
from .records import LogWitness, Witness
from .submission import written

ASK = "auditor: ask witnesses"
ASK_SECONDS = 60
TRIES = 2
LIMITS = CallLimits(seconds=10.0, body_bytes=16 * 1024)
OK, CONFLICT = 200, 409
AHEAD_MAX_SECONDS = 600
SIZE_TYPE = "text/x.tlog.size"


def witnesses_of(settings: Settings) -> list[Witness]:
    """The witnesses that the operator names."""
    found: dict[str, Witness] = {}
    for text in settings.log_witnesses:
        key_text, _, address = text.partition("@")
        key = read_verifier_key(key_text, WITNESS_KEY, ML_DSA_WITNESS_KEY)
        # Its two keys are two entries of one name.
        others = found[key.name].keys if key.name in found else ()
        keys = [*(one for one in others if one.kind != key.kind), key]
        found[key.name] = Witness(tuple(sorted(keys, key=attrgetter("kind"))), address.rstrip("/"))
    return list(found.values())


async def all_witnesses(tx: Tx, settings: Settings) -> list[Witness]:
    """The witnesses that the operator names, and the active peers; each name and each key once."""
    named = {one.name: one for one in await peer_witnesses(tx)}
    named |= {one.name: one for one in witnesses_of(settings)}
    # One key under two names would count twice in the quorum (C2SP tlog-policy forbids it).
    holders = {key.public_key: one.name for one in named.values() for key in one.keys}
    return [one for one in named.values() if all(holders[key.public_key] == one.name for key in one.keys)]


async def list_log_witnesses(tx: Tx, settings: Settings) -> list[tuple[Witness, LogWitness | None]]:
    """The witnesses of the own log, each with what it cosigned last."""
    found = await store.log_witnesses(tx)
    return [(one, found.get(one.name)) for one in await all_witnesses(tx, settings)]


async def own_policy(tx: Tx, settings: Settings) -> str:
    """The policy of the own log, as text."""
    origin = origin_of(settings.ledger_id)
    # Each new checkpoint bears the present key. A retired one may be in the hands of a thief.
    present = [key.public_key for key in await published_keys(tx) if key.retired_at is None]
    keys = [VerifierKey(origin, public_key, LOG_KEY) for public_key in present]
    return policy_text(keys, f"{settings.base_url}/log", await all_witnesses(tx, settings))


async def ask_witnesses(runtime: Runtime) -> None:
    """Ask each witness for its cosignature."""
    asked = await runtime.database.read(lambda tx: all_witnesses(tx, runtime.settings))
    await asyncio.gather(*(_ask(runtime, witness) for witness in asked))


@dataclass(frozen=True)
class _Cosigned:
    size: int
    lines: list[str]
    timestamp: int


class _Declined(Exception):
    """The witness did not cosign; the message says how it ended."""


async def _ask(runtime: Runtime, witness: Witness) -> None:
    name = witness.name
    try:
        found = await _cosigned_by(runtime, witness)
    except LogEmpty:
        return
    except (_Declined, OutgoingTrouble) as trouble:
        said = str(trouble)
        await runtime.database.act(lambda tx: store.keep_trouble(tx, name, said))
        return
    await runtime.database.act(
        lambda tx: store.keep_cosignatures(tx, name, found.size, found.lines, found.timestamp)
    )


async def _cosigned_by(runtime: Runtime, witness: Witness) -> _Cosigned:
    old_size = await runtime.database.look(lambda tx: store.known_size(tx, witness.name))
    for _ in range(TRIES):
        growth = await runtime.database.read(partial(prove_growth, old_size=old_size))
        body = written(growth.old_size, growth.hashes, growth.note)
        answer = await runtime.outgoing.post(f"{witness.address}/add-checkpoint", body, limits=LIMITS)
        if answer.status == OK:
            return _cosigned_in(answer.body.decode("utf-8", "replace"), growth, witness)
        old_size = _named_size(answer)
        if old_size > growth.size:
            raise _Declined(f"It has cosigned {old_size} leaves, this log has {growth.size}.")
    raise _Declined("It has cosigned another log under this name.")


def _cosigned_in(lines: str, growth: Growth, witness: Witness) -> _Cosigned:
    """The cosignatures by known keys of the witness in its answer. Raises: _Declined when there is none."""
    text = log.text_of(growth.note)
    found = [one for key in witness.keys if (one := find_cosignature(lines, text, key)) is not None]
    latest = int(time()) + AHEAD_MAX_SECONDS
    kept = [(timestamp, line) for timestamp, line in found if timestamp <= latest]
    if not kept:
        raise _Declined(f"Its answer has no valid cosignature{' of this time' if found else ''}.")
    return _Cosigned(growth.size, [line for _, line in kept], max(timestamp for timestamp, _ in kept))


def _named_size(answer: Answer) -> int:
    """The size that a witness names when it refuses an old one. Raises: _Declined when it names none."""
    media_type = answer.headers.get("content-type", "").partition(";")[0]
    try:
        if answer.status == CONFLICT and media_type == SIZE_TYPE:
            return log.read_size(answer.body.decode("ascii", "replace").removesuffix("\n"))
    except log.BadCheckpoint:
        pass
    raise _Declined(f"It answered with status {answer.status}.")
