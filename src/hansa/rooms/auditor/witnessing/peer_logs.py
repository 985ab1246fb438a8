"""Peers as witnesses: each side cosigns the other's log, and both compare the checkpoints that each was shown.

Keys are read from each peer itself, over mutual TLS. A key that its peer does not state any more in a hint counts no more when
the hint is answered. A fork is kept with both signed copies; nothing is decided by it.
"""

import asyncio
import random
from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from urllib.parse import urlencode

import msgspec
import structlog

from hansa.foundation.plumbing.jobs import Job, LeasedKind, PutOff, Retries, enqueue
from hansa.foundation.plumbing.outgoing import Answer, CallLimits, OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.peer_caller import PeerClosed
from hansa.rooms import federation
from hansa.rooms.auditor.attestations import kid_of
from hansa.rooms.auditor.transparency.notes import origin_of
from hansa_verify import (
    LOG_KEY,
    ML_DSA_WITNESS_KEY,
    WITNESS_KEY,
    NotAKey,
    NotCanonical,
    VerifierKey,
    log,
    read_auditor_keys,
    read_json,
    read_verifier_key,
)

from . import forks, store
from .forks import ForkKind, Growth, Seen
from .records import Fork, PeerLog, StoredFork, Witness

FOLLOW = "auditor: logs of peers"
FOLLOW_SECONDS = 60
AT_ONCE = 8
PEERS_ASKED_MAX = 12
"""Peers that are witnesses of the own log: each adds 3,500 characters to a checkpoint, of which readers take 64 KiB."""
FORKS_MAX = 100
ATTEMPTS = 3
"""Readings of the keys of a peer that stated others: afterwards they are read with those of all peers."""
COMPARED_MAX = 32
"""Logs compared with one peer in a cycle, drawn from those that differ."""
LIMITS = CallLimits(seconds=10.0, body_bytes=256 * 1024)
WITNESS_PATH = "/witness"
OK = 200

_log = structlog.get_logger()


class _WitnessedLog(msgspec.Struct):
    origin: str
    size: int
    root: str


class _Witness(msgspec.Struct):
    key: str
    logs: list[_WitnessedLog]
    ml_dsa_44_key: str | None = None

    @property
    def key_texts(self) -> list[str]:
        """Its keys, the Ed25519 key first. A registry of an older version has no other."""
        return [self.key] if self.ml_dsa_44_key is None else [self.key, self.ml_dsa_44_key]

    def differing(self, own: Mapping[str, tuple[int, str]]) -> list[str]:
        """The logs of which this registry was shown another checkpoint than the peer was."""
        return [
            one.origin
            for one in self.logs
            if own.get(one.origin, (one.size, one.root)) != (one.size, one.root)
        ]


class _Consistency(msgspec.Struct):
    hashes: list[str]
    checkpoint: str


async def peer_witnesses(tx: Tx) -> list[Witness]:
    """The active peers that are witnesses of the own log: those that have been peers for the longest time."""
    logs, peers = await read_together(tx, store.peer_logs, federation.peers)
    stored = {one.ledger_id: one for one in logs}
    found: list[Witness] = []
    for peer in sorted(peers, key=attrgetter("id")):
        if len(found) == PEERS_ASKED_MAX:
            break
        known = stored.get(peer.ledger_id or "")
        if peer.is_open and known is not None and known.witness_keys:
            address = f"{peer.registry_url.rstrip('/')}{WITNESS_PATH}"
            found.append(Witness(tuple(known.witness_keys), address, peer))
    return found


async def seen_checkpoint(tx: Tx, origin: str) -> Seen | None:
    """The checkpoint of a log that was cosigned last; None where none was."""
    return await store.seen(tx, origin)


async def list_forks(tx: Tx) -> list[StoredFork]:
    """The newest forks of other logs, at most 100."""
    return await store.forks_found(tx, FORKS_MAX)


async def follow_in_turns(runtime: Runtime) -> None:
    """Run `follow_peers` in every second minute: of two peers one reads the other, and in the next minute the other one.

    The comparison is the same, whichever of them reads. Peers whose keys are due to be read are read in any minute.
    """
    minute = int((await runtime.database.query(clock.now)).timestamp()) // FOLLOW_SECONDS
    await follow_peers(runtime, minute)


async def follow_peers(runtime: Runtime, minute: int | None = None) -> None:
    """Read the keys of each active peer every ten minutes, and compare with it every log that both cosign.

    With `minute` only those whose turn it is. A new key of a log signs beside the former one for days. A new key of a witness is in
    the comparison: both are read at once then.
    """
    known = await runtime.database.query(store.newly_read)
    found = [peer for peer in await runtime.database.query(federation.peers) if peer.is_open]
    followed = [
        peer
        for peer in found
        if minute is None
        or peer.ledger_id not in known
        or _is_turn(runtime.settings.ledger_id, peer.ledger_id, minute)
    ]
    turns = asyncio.Semaphore(AT_ONCE)
    own = await runtime.database.query(store.roots)

    async def follow(peer: federation.PeerRecord) -> None:
        async with turns:
            witness = await _witness_of(runtime, peer)
            if not _is_known(peer, witness, known):
                await _keep_keys(runtime, peer, witness)
            differing = [] if witness is None else witness.differing(own)
            for origin in random.sample(differing, min(COMPARED_MAX, len(differing))):
                await _compare(runtime, peer, origin, found)

    await asyncio.gather(*(follow(peer) for peer in followed))


def _is_turn(own: str, other: str, minute: int) -> bool:
    """Return whether this registry reads the other one in this minute; where it does not, the other one reads it."""
    return (own < other) == (minute % 2 == 0)


def _is_known(peer: federation.PeerRecord, witness: _Witness | None, known: Mapping[str, list[str]]) -> bool:
    ledger_id = peer.ledger_id
    if ledger_id is None or ledger_id not in known:
        return False
    return witness is None or known[ledger_id] == witness.key_texts


async def withdraw_unstated_keys(tx: Tx, peer_id: int, kids: Collection[str]) -> bool:
    """Withdraw the keys of the log of a peer that it does not state any more, and let its keys be read; whether it stated others."""
    ledger_id = (await federation.peer_by_id(tx, peer_id)).ledger_id
    known = await store.lock_log_keys(tx, ledger_id)
    if known is None or {kid_of(key.public_key) for key in known} == set(kids):
        return False
    await store.withdraw_log_keys(tx, ledger_id, [key for key in known if kid_of(key.public_key) in kids])
    await enqueue(tx, PEER_KEYS.name, str(peer_id))
    return True


async def _read_stated_keys(runtime: Runtime, job: Job) -> None:
    try:
        peer = await runtime.database.query(lambda tx: federation.peer_by_id(tx, int(job.key)))
    except federation.PeerUnknown:
        return
    witness = await _witness_of(runtime, peer)
    is_read = witness is not None and await _keep_keys(runtime, peer, witness)
    if not is_read and job.attempts < ATTEMPTS:
        raise PutOff("The keys of the peer's log could not be read.")


PEER_KEYS = LeasedKind(
    "auditor: keys of a peer", _read_stated_keys, at_once=AT_ONCE, retries=Retries(None, pause_seconds=1.0)
)


async def _keep_keys(runtime: Runtime, peer: federation.PeerRecord, witness: _Witness | None) -> bool:
    """Return whether the keys were read."""
    began = await runtime.database.query(clock.now)
    stored = await _read_keys(runtime, peer, witness)
    if stored is None:
        return False
    await runtime.database.execute(lambda tx: store.keep_peer_log(tx, stored, began))
    return True


async def _witness_of(runtime: Runtime, peer: federation.PeerRecord) -> _Witness | None:
    answer = await _get(runtime, peer, WITNESS_PATH)
    try:
        return None if answer is None else msgspec.json.decode(answer.body, type=_Witness)
    except msgspec.DecodeError:
        return None


async def _read_keys(
    runtime: Runtime, peer: federation.PeerRecord, witness: _Witness | None
) -> PeerLog | None:
    keys = await _get(runtime, peer, "/.well-known/auditor-jwks.json")
    if keys is None or peer.ledger_id is None:
        return None
    origin = origin_of(peer.ledger_id)
    try:
        # With a stolen key that was retired since, a forged tree would be cosigned.
        present = [key for key in read_auditor_keys(read_json(keys.body)) if key.retired_at_id is None]
        log_keys = [VerifierKey(origin, key.public_key, LOG_KEY) for key in present]
    except (NotAKey, NotCanonical):
        return None
    return PeerLog(peer.ledger_id, log_keys, _witness_keys(witness))


def _witness_keys(witness: _Witness | None) -> list[VerifierKey]:
    """The keys of a witness, of one name; none where they are unusable."""
    if witness is None:
        return []
    kinds = (WITNESS_KEY, ML_DSA_WITNESS_KEY)
    try:
        keys = [read_verifier_key(text, kind) for text, kind in zip(witness.key_texts, kinds, strict=False)]
    except NotAKey:
        return []
    return keys if len({key.name for key in keys}) == 1 else []


async def _compare(
    runtime: Runtime,
    peer: federation.PeerRecord,
    origin: str,
    others: Sequence[federation.PeerRecord],
) -> None:
    """Compare the checkpoint of a log that this registry was shown with the one that the peer was shown."""
    answer = await _get(runtime, peer, f"/witness/checkpoint?{urlencode({'origin': origin})}")
    own = await runtime.database.read(lambda tx: store.seen(tx, origin))
    keys = await runtime.database.read(lambda tx: store.keys_of_peer_log(tx, origin))
    public_keys = [*keys, *_configured_keys(runtime, origin)]
    other = None if answer is None else seen_in(answer.body.decode("utf-8", "replace"), origin, public_keys)
    if own is None or other is None or other.note == own.note:
        return
    kind = await _fork_of(runtime, own, other, _author(others, origin), public_keys)
    if kind is None:
        return
    assert peer.ledger_id is not None
    fork = Fork(origin, kind, own.note, other.note, peer.ledger_id)
    if await runtime.database.transaction(lambda tx: store.keep_fork(tx, fork)):
        _log.critical("a log has forked", origin=origin, kind=kind, other_witness=peer.ledger_id)


async def _fork_of(
    runtime: Runtime,
    own: Seen,
    other: Seen,
    author: federation.PeerRecord | None,
    public_keys: Sequence[bytes],
) -> ForkKind | None:
    """How the two differ; None where they are of one log, or where its author does not say."""
    if own.size == other.size:
        return "same_size" if forks.fork_at_one_size(own, other) else None
    if author is None:
        return None
    for seen in (own, other):
        growth = await _growth(runtime, author, seen.size, public_keys)
        if growth is None:
            return None
        if not forks.continues(seen, growth):
            return "not_consistent"
    return None


async def _growth(
    runtime: Runtime, author: federation.PeerRecord, old_size: int, public_keys: Sequence[bytes]
) -> Growth | None:
    """The log's own answer about an older size, under a checkpoint that it signed."""
    answer = await _get(runtime, author, f"/log/consistency?old_size={old_size}")
    try:
        declared = None if answer is None else msgspec.json.decode(answer.body, type=_Consistency)
        if declared is None:
            return None
        now = log.read_checkpoint(declared.checkpoint, public_keys)
        return Growth(now.size, now.root, [log.read_hash(one) for one in declared.hashes])
    except (msgspec.DecodeError, log.BadCheckpoint):
        return None


def seen_in(note: str, origin: str, public_keys: Sequence[bytes]) -> Seen | None:
    """The checkpoint in a note that one of these keys signed; None where none did."""
    try:
        checkpoint = log.read_checkpoint(note, public_keys, origin)
    except log.BadCheckpoint:
        return None
    return Seen(checkpoint.size, checkpoint.root, note)


def _configured_keys(runtime: Runtime, origin: str) -> list[bytes]:
    keys = [read_verifier_key(text, LOG_KEY) for text in runtime.settings.witnessed_logs]
    return [key.public_key for key in keys if key.name == origin]


def _author(others: Sequence[federation.PeerRecord], origin: str) -> federation.PeerRecord | None:
    """The peer whose log this is."""
    return next((one for one in others if one.ledger_id and origin_of(one.ledger_id) == origin), None)


async def _get(runtime: Runtime, peer: federation.PeerRecord, path: str) -> Answer | None:
    try:
        answer = await federation.call_peer(runtime, peer, "GET", path, limits=LIMITS)
    except (OutgoingTrouble, PeerClosed, federation.FederationOff):
        return None
    return answer if answer.status == OK else None
