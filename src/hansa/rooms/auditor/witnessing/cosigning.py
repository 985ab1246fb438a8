"""Cosign the checkpoints of other logs (C2SP tlog-witness): compare with what was cosigned last, and record, in one step.

Its size of a log never falls, and it never signs two trees of one log
that are not one the beginning of the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog

from hansa.foundation.plumbing.database import Database, Tx
from hansa.foundation.plumbing.seal import Seal
from hansa.foundation.plumbing.settings import Settings
from hansa_verify import LOG_KEY, VerifierKey, log, read_verifier_key
from hansa_verify.log import cosignature_line, cosigned_message

from . import store
from .errors import NotConsistent, NotSigned, OriginUnknown, SubmissionInvalid
from .keys import GRACE_DAYS, WitnessKeys, current_keys, opened_keys, verifier_key
from .records import Fork, NewCheckpoint, WitnessedLog
from .submission import Submission

_log = structlog.get_logger()


@dataclass(frozen=True)
class Stale:
    """The old size of a request is not that of the checkpoint that was cosigned last, which has `size` leaves."""

    size: int


@dataclass(frozen=True)
class Forked:
    """The log signed another tree of the size that was cosigned last. Both checkpoints are kept as evidence."""


def keys_by_origin(settings: Settings) -> Mapping[str, Sequence[bytes]]:
    """The trusted keys of each log that is witnessed."""
    found: dict[str, list[bytes]] = {}
    for text in settings.witnessed_logs:
        key = read_verifier_key(text, LOG_KEY)
        found.setdefault(key.name, []).append(key.public_key)
    return found


async def read_witness(tx: Tx, frame: str) -> tuple[WitnessKeys, list[WitnessedLog]]:
    """The public keys of this witness, and what it cosigned last of each log, by one statement. Raises: WitnessKeySealed."""
    public_keys, logs = await store.witness(tx)
    return current_keys(frame, public_keys), logs


async def add_checkpoint(
    database: Database, settings: Settings, seal: Seal, submission: Submission
) -> str | Stale | Forked:
    """Cosign a checkpoint; returns a line for each key that cosigns, or why none does. Opens its own transactions.

    It is recorded on the condition that the log is still at the checkpoint that it was compared with; only then the
    cosignatures are returned.

    Raises: OriginUnknown, NotSigned, SubmissionInvalid, NotConsistent, WitnessKeySealed.
    """
    found = await database.look(lambda tx: store.before_cosigning(tx, submission.origin, GRACE_DAYS))
    checkpoint = _signed_checkpoint(settings, submission, found.log_keys)
    keys = opened_keys(seal, found.sealed_keys)
    known = found.log
    if submission.old_size != (known.size if known else 0):
        return Stale(known.size if known else 0)
    if known is not None and known.size == checkpoint.size and known.root != checkpoint.root:
        _log.critical("a log signed two trees of one size", origin=known.origin, size=known.size)
        await database.act(lambda tx: _keep_fork(tx, submission, settings.ledger_id))
        return Forked()
    _require_consistent(known, checkpoint, submission)
    text = log.text_of(submission.note)
    lines = []
    for key in keys:
        witness = verifier_key(settings.ledger_id, key.public_key().public_bytes_raw())
        signature = key.sign(cosigned_message(text, found.now, witness))
        lines.append(cosignature_line(witness, found.now, signature))
    new = NewCheckpoint(checkpoint.origin, checkpoint.size, checkpoint.root, submission.note, found.now)
    if not await database.act_at_once(lambda tx: store.record(tx, known, new)):
        # Another request recorded a checkpoint meanwhile.
        other = await database.look(lambda tx: store.before_cosigning(tx, submission.origin, GRACE_DAYS))
        assert other.log is not None
        return Stale(other.log.size)
    return "\n".join(lines)


async def _keep_fork(tx: Tx, submission: Submission, shown_here: str) -> None:
    own = await store.seen(tx, submission.origin)
    assert own is not None
    await store.keep_fork(tx, Fork(submission.origin, "same_size", own.note, submission.note, shown_here))


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
    except log.BadCheckpoint as trouble:
        raise SubmissionInvalid(f"The checkpoint is invalid: {trouble}.") from None
    # A trusted key that signed something else in the same note makes the note malformed (C2SP signed-note).
    signers = [VerifierKey(submission.origin, key, LOG_KEY) for key in keys]
    text, lines = log.text_of(submission.note), submission.note.rpartition("\n\n")[2]
    if any(any(one.signatures_in(lines)) and not one.has_signed(text, lines) for one in signers):
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
