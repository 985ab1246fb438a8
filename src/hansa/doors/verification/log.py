"""Verification of the tiled log from the command line: reads checkpoint, entries or a proof, and judges them step by step."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

import msgspec

from hansa.doors.verification.attestations import KEY_SET
from hansa.doors.verification.cards import CannotRead, is_address, read_source, steps_json
from hansa_verify import (
    ML_DSA_WITNESS_KEY,
    WITNESS_KEY,
    AuditorKey,
    NotAKey,
    NotCanonical,
    Step,
    VerifierKey,
    find_cosignature,
    has_ml_dsa,
    log,
    read_auditor_keys,
    read_json,
    read_verifier_key,
)
from hansa_verify.log import BadCheckpoint, Checkpoint

CHECKPOINT = "/log/checkpoint"
ENTRIES = "/log/tile/entries/"


class LogVerdict(msgspec.Struct, frozen=True):
    """The judgement: `code` is `verified`, or names the first step that did not hold."""

    steps: tuple[Step, ...]
    checkpoint: Checkpoint | None

    @property
    def code(self) -> str:
        """The outcome."""
        return next((step.name for step in self.steps if not step.holds), "verified")

    @property
    def is_valid(self) -> bool:
        """Return whether every step holds."""
        return self.code == "verified"


def verify_log(source: str, keys: str | None, old: str | None, witnesses: Sequence[str] = ()) -> LogVerdict:
    """The verdict on a whole log, or on the proof of a leaf, whose checkpoint each of these witnesses cosigned. Raises: CannotRead."""
    is_whole = is_address(source) and urlsplit(source).path in {"", "/"}
    if keys is None and not is_address(source):
        raise CannotRead(f"--keys is required for a proof in a file: use --keys https://REGISTRY{KEY_SET}")
    try:
        cosigners = [read_verifier_key(text, WITNESS_KEY, ML_DSA_WITNESS_KEY) for text in witnesses]
    except NotAKey as error:
        raise CannotRead(f"--witness: {error}.") from None
    try:
        key_set = read_auditor_keys(read_json(read_source(keys or urljoin(source, KEY_SET))))
        if is_whole:
            return _verify_whole(source, key_set, old, cosigners)
        proof = read_json(read_source(source))
        if not isinstance(proof, dict) or "old_size" not in proof:
            return judge_inclusion(proof, key_set, cosigners)
        if old is None:
            raise CannotRead("--old is required for a proof of consistency: the older checkpoint.")
        return judge_consistency(proof, key_set, _text(old), cosigners)
    except (NotCanonical, NotAKey) as error:
        raise CannotRead(f"{source} contains no usable log or keys: {error}.") from None


def log_verdict_json(verdict: LogVerdict) -> dict[str, Any]:
    """The verdict for a program."""
    checkpoint = verdict.checkpoint
    return {
        "valid": verdict.is_valid,
        "code": verdict.code,
        "origin": checkpoint and checkpoint.origin,
        "size": checkpoint and checkpoint.size,
        "root": checkpoint and checkpoint.root.hex(),
        "steps": steps_json(verdict.steps),
    }


def _verify_whole(
    address: str, keys: tuple[AuditorKey, ...], old: str | None, witnesses: Sequence[VerifierKey]
) -> LogVerdict:
    note = _text(urljoin(address, CHECKPOINT))
    checkpoint, signed = _checkpoint_step("checkpoint", note, keys)
    if checkpoint is None:
        return LogVerdict((signed,), None)
    leaves = [log.leaf_hash(entry) for entry in _entries(address, checkpoint.size)]
    steps = [signed, *_cosigned(note, witnesses)]
    steps += [_judged("tree", lambda: log.root_of(leaves) == checkpoint.root, f"{len(leaves)} leaves")]
    if old is not None:
        older, step = _checkpoint_step("old checkpoint", _text(old), keys)
        steps.append(step)
        if older is not None:
            steps.append(
                _judged(
                    "consistency",
                    lambda: (
                        older.origin == checkpoint.origin
                        and older.size <= len(leaves)
                        and log.root_of(leaves[: older.size]) == older.root
                    ),
                    f"the log continues the checkpoint of {older.size} leaves",
                )
            )
    return LogVerdict(tuple(steps), checkpoint)


def judge_inclusion(
    proof: Any, keys: tuple[AuditorKey, ...], witnesses: Sequence[VerifierKey] = ()
) -> LogVerdict:
    """The verdict on an answer of `/log/proof`. Raises: NotCanonical when it has another form."""
    kinds = {"checkpoint": str, "entry": str, "index": int, "size": int, "hashes": list}
    if not isinstance(proof, dict) or any(type(proof.get(name)) is not kind for name, kind in kinds.items()):
        raise NotCanonical("a proof has the members checkpoint, entry, index, size and hashes")
    checkpoint, signed = _checkpoint_step("checkpoint", proof["checkpoint"], keys)
    if checkpoint is None:
        return LogVerdict((signed,), None)
    leaf = log.leaf_hash(proof["entry"].encode())

    def leads_to_root() -> bool:
        hashes = [log.read_hash(one) for one in proof["hashes"]]
        return proof["size"] == checkpoint.size and log.proves_inclusion(
            proof["index"], checkpoint.size, leaf, hashes, checkpoint.root
        )

    said = f"leaf {proof['index']} of {checkpoint.size}: {proof['entry']}"
    cosigned = _cosigned(proof["checkpoint"], witnesses)
    return LogVerdict((signed, *cosigned, _judged("inclusion", leads_to_root, said)), checkpoint)


def judge_consistency(
    proof: Any, keys: tuple[AuditorKey, ...], old: str, witnesses: Sequence[VerifierKey] = ()
) -> LogVerdict:
    """The verdict on an answer of `/log/consistency`; `old` is the older checkpoint. Raises: NotCanonical."""
    kinds = {"checkpoint": str, "old_size": int, "size": int, "hashes": list}
    if not isinstance(proof, dict) or any(type(proof.get(name)) is not kind for name, kind in kinds.items()):
        raise NotCanonical("a proof of consistency has the members checkpoint, old_size, size and hashes")
    checkpoint, signed = _checkpoint_step("checkpoint", proof["checkpoint"], keys)
    older, old_signed = _checkpoint_step("old checkpoint", old, keys)
    if checkpoint is None or older is None:
        return LogVerdict((signed, old_signed), checkpoint)

    def continues() -> bool:
        hashes = [log.read_hash(one) for one in proof["hashes"]]
        sizes = (proof["old_size"], proof["size"]) == (older.size, checkpoint.size)
        return (sizes and checkpoint.origin == older.origin) and log.proves_consistency(
            older.size, checkpoint.size, older.root, checkpoint.root, hashes
        )

    said = f"the log continues the checkpoint of {older.size} leaves"
    steps = (signed, *_cosigned(proof["checkpoint"], witnesses), old_signed)
    return LogVerdict((*steps, _judged("consistency", continues, said)), checkpoint)


def _checkpoint_step(name: str, note: str, keys: tuple[AuditorKey, ...]) -> tuple[Checkpoint | None, Step]:
    try:
        checkpoint = log.read_checkpoint_of(note, keys)
    except BadCheckpoint as error:
        return None, Step(name, holds=False, said=str(error))
    others = log.other_signers(note)
    said = f"{checkpoint.origin}, {checkpoint.size} leaves, signed"
    return checkpoint, Step(
        name, holds=True, said=f"{said}; {others} other signatures not judged" if others else said
    )


def _cosigned(note: str, witnesses: Sequence[VerifierKey]) -> Iterator[Step]:
    """Yield for each of these keys of witnesses whether it cosigned the checkpoint."""
    for witness in witnesses:
        name = f"{witness.name} ({log.ALGORITHMS[witness.kind]})"
        if witness.kind == ML_DSA_WITNESS_KEY and not has_ml_dsa():
            said = f"{name} was not checked: this version of the package cryptography has no ML-DSA-44"
            yield Step("witness", holds=False, said=said)
            continue
        found = find_cosignature(note.rpartition("\n\n")[2], log.text_of(note), witness)
        said = f"{name} did not cosign" if found is None else f"{name} cosigned at {_moment(found[0])}"
        yield Step("witness", holds=found is not None, said=said)


def _moment(timestamp: int) -> str:
    try:
        return datetime.fromtimestamp(timestamp, UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        return f"{timestamp} seconds after 1970"


def _judged(name: str, holds: Callable[[], bool], said: str) -> Step:
    try:
        return Step(name, holds=holds(), said=said)
    except BadCheckpoint as error:
        return Step(name, holds=False, said=str(error))


def _entries(address: str, size: int) -> list[bytes]:
    entries: list[bytes] = []
    while len(entries) < size:
        number = len(entries) // log.TILE_WIDTH
        width = min(log.TILE_WIDTH, size - len(entries))
        place = urljoin(address, ENTRIES + log.tile_path(number, width))
        try:
            tile = log.read_entries(read_source(place))
        except BadCheckpoint as error:
            raise CannotRead(f"{place}: {error}.") from None
        if len(tile) != width:
            raise CannotRead(f"{place} has {len(tile)} entries, expected {width}.")
        entries += tile
    return entries


def _text(source: str) -> str:
    try:
        return read_source(source).decode()
    except UnicodeDecodeError:
        raise CannotRead(f"{source} is not UTF-8 text.") from None
