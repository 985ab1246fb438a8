"""Ask the witnesses of the own log to cosign its newest checkpoint, as soon as it is signed. No cycle waits for them.

Each witness is asked by itself, a peer over mutual TLS; its answer is kept when its cosignature is valid. A witness that knows
another size names it, and is asked once more with a proof from there. A checkpoint is published once a majority has cosigned
it, or as many as the one before.

The policy of the own log as text (C2SP tlog-policy): its key, its witnesses, and how many of them have to cosign.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from time import time

from hansa.foundation.plumbing.outgoing import Answer, CallLimits, NamedBy, OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.peer_caller import PeerClosed
from hansa.rooms import federation
from hansa.rooms.auditor.attestations import published_keys
from hansa.rooms.auditor.transparency import Growth, LogEmpty, prove_growth, publish_cosigned
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
from .peer_logs import WITNESS_PATH, peer_witnesses
from .records import Cosigned, LogWitness, Witness
from .submission import written

ASK = "auditor: ask witnesses"
ASK_SECONDS = 60
TRIES = 2
KEPT_SECONDS = 0.5
ADD_PATH = "/add-checkpoint"
LIMITS = CallLimits(seconds=10.0, body_bytes=16 * 1024)
OK, CONFLICT = 200, 409
AHEAD_MAX_SECONDS = 600
SIZE_TYPE = "text/x.tlog.size"
GROUP = "witnesses"
_SUFFIX = {WITNESS_KEY: "", ML_DSA_WITNESS_KEY: "-ml-dsa-44"}


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
    """Return the witnesses of the own log, each with its last cosignature."""
    found, witnesses = await read_together(tx, store.log_witnesses, lambda tx: all_witnesses(tx, settings))
    return [(one, found.get(one.name)) for one in witnesses]


async def own_policy(tx: Tx, settings: Settings) -> str:
    """The policy of the own log, as text."""
    origin = origin_of(settings.ledger_id)
    # Each new checkpoint bears the present key. A retired one may be in the hands of a thief.
    present = [key.public_key for key in await published_keys(tx) if key.retired_at is None]
    keys = [VerifierKey(origin, public_key, LOG_KEY) for public_key in present]
    return policy_text(keys, f"{settings.base_url}/log", await all_witnesses(tx, settings))


async def ask_witnesses(runtime: Runtime) -> None:
    """Ask each witness for its cosignature; the answers received are stored each half second, so that a slow one delays no other."""
    asked = await runtime.database.read(lambda tx: all_witnesses(tx, runtime.settings))
    if not asked:
        return
    names = [one.name for one in asked]
    sizes = await runtime.database.query(store.known_sizes)
    growths = _Growths(runtime)
    waiting = {
        asyncio.ensure_future(_ask(runtime, growths, witness, sizes.get(witness.name, 0)))
        for witness in asked
    }
    try:
        while waiting:
            ended, waiting = await asyncio.wait(waiting, timeout=KEPT_SECONDS)
            await _keep(runtime, [task.result() for task in ended])
            await runtime.database.execute(lambda tx: publish_cosigned(tx, names, majority_of(names)))
    finally:
        for task in waiting:
            task.cancel()


class _Declined(Exception):
    """The witness did not cosign; the message says how it ended."""


class _Growths:
    """How the own log has grown, read once for each size that witnesses know."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._found: dict[int, asyncio.Future[Growth]] = {}

    async def since(self, old_size: int) -> Growth:
        """Raises: LogEmpty."""
        found = self._found.get(old_size)
        if found is None:
            reading = self._runtime.database.read_replicated(partial(prove_growth, old_size=old_size))
            found = self._found[old_size] = asyncio.ensure_future(reading)
        return await asyncio.shield(found)


async def _keep(runtime: Runtime, answers: Sequence[Cosigned | tuple[str, str] | None]) -> None:
    cosigned = [answer for answer in answers if isinstance(answer, Cosigned)]
    troubles = [answer for answer in answers if answer is not None and not isinstance(answer, Cosigned)]
    if cosigned:
        await runtime.database.execute(lambda tx: store.keep_cosignatures(tx, cosigned))
    if troubles:
        await runtime.database.execute(lambda tx: store.keep_troubles(tx, troubles))


async def _ask(
    runtime: Runtime, growths: _Growths, witness: Witness, old_size: int
) -> Cosigned | tuple[str, str] | None:
    """Return the cosignature of the witness, or its name and why it did not cosign; None while the log is empty."""
    try:
        return await _cosigned_by(runtime, growths, witness, old_size)
    except LogEmpty:
        return None
    except (_Declined, OutgoingTrouble, PeerClosed, federation.FederationOff) as error:
        return witness.name, str(error)


async def _cosigned_by(runtime: Runtime, growths: _Growths, witness: Witness, old_size: int) -> Cosigned:
    for _ in range(TRIES):
        growth = await growths.since(old_size)
        body = written(growth.old_size, growth.hashes, growth.note)
        answer = await _submitted(runtime, witness, body)
        if answer.status == OK:
            lines = answer.body.decode("utf-8", "replace")
            return _cosigned_in(lines, growth, witness)
        old_size = _named_size(answer)
        if old_size > growth.size:
            raise _Declined(f"It has cosigned {old_size} leaves, this log has {growth.size}.")
    raise _Declined("It has cosigned another log under this name.")


async def _submitted(runtime: Runtime, witness: Witness, body: bytes) -> Answer:
    """Raises: OutgoingTrouble, PeerClosed, FederationOff."""
    if witness.peer is None:
        return await runtime.outgoing.post(
            f"{witness.address}{ADD_PATH}", body, named_by=NamedBy.OPERATOR, limits=LIMITS
        )
    path = f"{WITNESS_PATH}{ADD_PATH}"
    return await federation.call_peer(runtime, witness.peer, "POST", path, body, limits=LIMITS)


def _cosigned_in(lines: str, growth: Growth, witness: Witness) -> Cosigned:
    """The cosignatures by known keys of the witness in its answer. Raises: _Declined when there is none."""
    text = log.text_of(growth.note)
    found = [one for key in witness.keys if (one := find_cosignature(lines, text, key)) is not None]
    latest = int(time()) + AHEAD_MAX_SECONDS
    stored = [(timestamp, line) for timestamp, line in found if timestamp <= latest]
    if not stored:
        raise _Declined(f"Its answer has no valid cosignature{' of this time' if found else ''}.")
    signed_at = max(timestamp for timestamp, _ in stored)
    return Cosigned(witness.name, growth.size, [line for _, line in stored], signed_at)


def _named_size(answer: Answer) -> int:
    """The size that a witness names when it refuses an old one. Raises: _Declined when it names none."""
    media_type = answer.headers.get("content-type", "").partition(";")[0]
    try:
        if answer.status == CONFLICT and media_type == SIZE_TYPE:
            return log.read_size(answer.body.decode("ascii", "replace").removesuffix("\n"))
    except log.BadCheckpoint:
        pass
    raise _Declined(f"It answered with status {answer.status}.")


def policy_text(log_keys: Sequence[VerifierKey], address: str, witnesses: Sequence[Witness]) -> str:
    """A line for each key of the log and of each witness; the quorum is a majority of the witnesses, or none without any.

    A witness with two keys is a group of which either is enough.
    """
    lines = [f"log {key.text} {address}" for key in log_keys]
    names = []
    for number, one in enumerate(witnesses, start=1):
        members = [f"witness-{number}{_SUFFIX[key.kind]}" for key in one.keys]
        lines += [
            f"witness {name} {key.text} {one.address}" for name, key in zip(members, one.keys, strict=True)
        ]
        if len(members) > 1:
            lines.append(f"group either-{number} any {' '.join(members)}")
        names.append(members[0] if len(members) == 1 else f"either-{number}")
    if not names:
        return "\n".join([*lines, "quorum none"]) + "\n"
    majority = majority_of(names)
    return "\n".join([*lines, f"group {GROUP} {majority} {' '.join(names)}", f"quorum {GROUP}"]) + "\n"


def majority_of(witnesses: Sequence[object]) -> int:
    """How many of the witnesses are the quorum."""
    return len(witnesses) // 2 + 1
