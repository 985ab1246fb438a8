"""Cosign the checkpoints of other logs (C2SP tlog-witness): compare with the last cosigned one, and record, in one step.

Its size of a log never falls, and it never signs two trees of one log
that are not one the beginning of the other.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec
import structlog

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa_verify import LOG_KEY, VerifierKey, log, read_verifier_key
from hansa_verify.log import cosignature_line, cosigned_message

from . import store
from .errors import NotConsistent, NotSigned, OriginUnknown, SubmissionInvalid
from .keys import GRACE_DAYS, CosigningKey, WitnessKeys, current_keys, opened_keys, verifier_key
from .records import BeforeCosigning, Fork, NewCheckpoint, WitnessedLog
from .submission import Submission

KNOWN_MAX = 4096

_log = structlog.get_logger()


class Stale(msgspec.Struct, frozen=True):
    """The old size of a request is not that of the checkpoint that was cosigned last, which has `size` leaves."""

    size: int


class Forked(msgspec.Struct, frozen=True):
    """The log signed another tree of the size that was cosigned last. Both checkpoints are kept as evidence."""


def keys_by_origin(settings: Settings) -> Mapping[str, Sequence[bytes]]:
    """The trusted keys of each log that is witnessed."""
    found: dict[str, list[bytes]] = {}
    for text in settings.witnessed_logs:
        key = read_verifier_key(text, LOG_KEY)
        found.setdefault(key.name, []).append(key.public_key)
    return found


async def read_witness(tx: Tx, frame: str) -> tuple[WitnessKeys, list[WitnessedLog]]:
    """Return the public keys of this witness, and its last cosigned checkpoint of each log, by one statement. Raises: WitnessKeySealed."""
    public_keys, logs = await store.witness(tx)
    return current_keys(frame, public_keys), logs


class KnownLogs:
    """Last cosigned checkpoint of each log in this process, and the opened keys: the next one of a log is one statement.

    Nothing counts by it alone: it is compared with the database when a checkpoint is recorded.
    """

    def __init__(self) -> None:
        self._logs: dict[str, BeforeCosigning] = {}
        self._sealed: list[tuple[bytes, bytes]] = []
        self._opened: list[CosigningKey] = []

    def at(self, origin: str, size: int) -> BeforeCosigning | None:
        """Return the record of a log whose last cosigned checkpoint has this size, or None."""
        found = self._logs.get(origin)
        return found if found is not None and found.size == size else None

    def keep(self, origin: str, known: BeforeCosigning) -> None:
        """Keep the present record of a log."""
        if len(self._logs) >= KNOWN_MAX:
            self._logs.clear()
        self._logs[origin] = known

    def opened(self, seal: Seal, sealed: list[tuple[bytes, bytes]]) -> list[CosigningKey]:
        """The keys that cosign, each opened once. Raises: WitnessKeySealed."""
        if not self._opened or sealed != self._sealed:
            self._opened, self._sealed = opened_keys(seal, sealed), sealed
        return self._opened


KNOWN_LOGS: Slot[KnownLogs] = Slot("auditor: logs that this process cosigned", build=lambda _: KnownLogs())


async def add_checkpoint(runtime: Runtime, submission: Submission) -> str | Stale | Forked:
    """Cosign a checkpoint; returns a line for each key that cosigns, or why none does. Opens its own transactions.

    It is recorded on the condition that the log is still at the checkpoint that it was compared with; only then it is cosigned.

    Raises: OriginUnknown, NotSigned, SubmissionInvalid, NotConsistent, WitnessKeySealed.
    """
    known = KNOWN_LOGS.of(runtime).at(submission.origin, submission.old_size)
    if known is not None:
        # What is refused by what was known may be right by what is stored now.
        with suppress(NotSigned, OriginUnknown, NotConsistent, SubmissionInvalid):
            found = await _judged_and_recorded(runtime, submission, known)
            if isinstance(found, str):
                return found
    found = await _judged_and_recorded(runtime, submission, await _stored(runtime, submission))
    if isinstance(found, Forked):
        _log.critical("a log signed two trees of one size", origin=submission.origin)
        await runtime.database.transaction(lambda tx: _keep_fork(tx, submission, runtime.settings.ledger_id))
    return found


async def _judged_and_recorded(
    runtime: Runtime, submission: Submission, found: BeforeCosigning
) -> str | Stale | Forked:
    settings, logs = runtime.settings, KNOWN_LOGS.of(runtime)
    log_keys = store.keys_in(submission.origin, found.log_key_texts)
    checkpoint = _signed_checkpoint(settings, submission, log_keys)
    keys = logs.opened(runtime.seal, found.sealed_keys)
    known = found.log
    if submission.old_size != found.size:
        return Stale(found.size)
    if known is not None and known.size == checkpoint.size and known.root != checkpoint.root:
        return Forked()
    _require_consistent(known, checkpoint, submission)
    new = NewCheckpoint(checkpoint.origin, checkpoint.size, checkpoint.root, submission.note)
    at = await runtime.database.execute(lambda tx: store.record(tx, found, new, GRACE_DAYS))
    if at is None:
        # Another request recorded a checkpoint meanwhile, or the keys changed.
        return Stale((await _stored(runtime, submission)).size)
    now = WitnessedLog(checkpoint.origin, checkpoint.size, checkpoint.root, at)
    logs.keep(checkpoint.origin, found._replace(log=now))
    return _cosigned(settings, submission, keys, int(at.timestamp()))


def _cosigned(
    settings: Settings, submission: Submission, keys: Sequence[CosigningKey], timestamp: int
) -> str:
    text = log.text_of(submission.note)
    lines = []
    for key in keys:
        witness = verifier_key(settings.ledger_id, key.public_key().public_bytes_raw())
        signature = key.sign(cosigned_message(text, timestamp, witness))
        lines.append(cosignature_line(witness, timestamp, signature))
    return "\n".join(lines)


async def _stored(runtime: Runtime, submission: Submission) -> BeforeCosigning:
    return await runtime.database.query(lambda tx: store.before_cosigning(tx, submission.origin, GRACE_DAYS))


async def _keep_fork(tx: Tx, submission: Submission, presented_here: str) -> None:
    own = await store.seen(tx, submission.origin)
    assert own is not None
    await store.keep_fork(tx, Fork(submission.origin, "same_size", own.note, submission.note, presented_here))


def _signed_checkpoint(
    settings: Settings, submission: Submission, peer_keys: Sequence[bytes]
) -> log.Checkpoint:
    keys = [*keys_by_origin(settings).get(submission.origin, ()), *peer_keys]
    if not keys:
        raise OriginUnknown
    try:
        checkpoint = log.read_checkpoint(submission.note, keys, submission.origin)
    except log.UnsignedCheckpoint:
        raise NotSigned from None
    except log.BadCheckpoint as error:
        raise SubmissionInvalid(f"The checkpoint is invalid: {error}.") from None
    # A trusted key that signed something else in the same note makes the note malformed (C2SP signed-note).
    signers = [VerifierKey(submission.origin, key, LOG_KEY) for key in keys]
    text, lines = log.text_of(submission.note), submission.note.rpartition("\n\n")[2]
    others = signers if len(signers) > 1 else []
    if any(any(one.signatures_in(lines)) and not one.has_signed(text, lines) for one in others):
        raise NotSigned
    if submission.old_size > checkpoint.size:
        raise SubmissionInvalid("The old size must not be above the size of the checkpoint.")
    return checkpoint


def _require_consistent(
    known: WitnessedLog | None, checkpoint: log.Checkpoint, submission: Submission
) -> None:
    """The proof is verified against the root that is stored."""
    old_root = known.root if known else log.root_of([])
    if checkpoint.size == 0 and checkpoint.root != log.root_of([]):
        raise NotConsistent
    if not log.proves_consistency(
        submission.old_size, checkpoint.size, old_root, checkpoint.root, submission.hashes
    ):
        _log.warning(
            "a log does not continue what was cosigned", origin=checkpoint.origin, size=checkpoint.size
        )
        raise NotConsistent
