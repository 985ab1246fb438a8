"""Verify that a tiled log is one tree under a checkpoint that its auditor signed, and that a leaf or an older log is in it.

Checkpoints are signed notes (C2SP signed-note, tlog-checkpoint) with Ed25519; witnesses cosign them (tlog-cosignature) with
Ed25519 or ML-DSA-44; trees are those of RFC 6962.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import sha256
from itertools import islice
from typing import Literal

from .keys import (
    KEY_BYTES,
    ML_DSA_KEY_BYTES,
    AuditorKey,
    NotAKey,
    is_ml_dsa_signed,
    is_signed,
    require_usable,
)
from .steps import Unreadable

NOTE_MAX_CHARACTERS = 64 * 1024
NAME_MAX_BYTES = 255
SIGNATURES_MAX = 32
HASH_BYTES = 32
SIZE_MAX = 2**62
DIGITS_MAX = 19
TILE_WIDTH = 256
LOG_KEY, WITNESS_KEY, ML_DSA_WITNESS_KEY = b"\x01", b"\x04", b"\x06"
Algorithm = Literal["Ed25519", "ML-DSA-44"]
ALGORITHMS: dict[bytes, Algorithm] = {
    LOG_KEY: "Ed25519",
    WITNESS_KEY: "Ed25519",
    ML_DSA_WITNESS_KEY: "ML-DSA-44",
}
TIMESTAMP_MAX = 2**63 - 1

_KEY_ID_BYTES, _TIME_BYTES, _COUNT_BYTES = 4, 8, 8
_HEAD_LINES, _KEY_PARTS = 3, 3
_PREFIX = "\u2014 "


class BadCheckpoint(Unreadable):
    """The note is not a checkpoint signed by one of the keys; the message is one line."""


class UnsignedCheckpoint(BadCheckpoint):
    """The note is a checkpoint that none of the keys signed."""


@dataclass(frozen=True)
class Checkpoint:
    """A tree of `size` leaves with this root, of the log `origin`."""

    origin: str
    size: int
    root: bytes


@dataclass(frozen=True)
class VerifierKey:
    """The name and the key of a signer of notes; `kind` is one of `ALGORITHMS`: of a log, or of a witness."""

    name: str
    public_key: bytes
    kind: bytes

    @property
    def key_id(self) -> bytes:
        """The four bytes that mark its signatures."""
        return sha256(f"{self.name}\n".encode() + self.kind + self.public_key).digest()[:_KEY_ID_BYTES]

    @property
    def text(self) -> str:
        """The verifier key: name, key id and key."""
        return f"{self.name}+{self.key_id.hex()}+{b64encode(self.kind + self.public_key).decode()}"

    def signatures_in(self, lines: str) -> Iterator[tuple[str, bytes]]:
        """Yield the lines with its name and key id, each with the bytes after the id; nothing in them is verified yet."""
        for line in lines.split("\n"):
            name, _, signature = line.removeprefix(_PREFIX).rpartition(" ")
            if not line.startswith(_PREFIX) or name != self.name:
                continue
            try:
                raw = _base64(signature)
            except BadCheckpoint:
                continue
            if raw[:_KEY_ID_BYTES] == self.key_id:
                yield line, raw[_KEY_ID_BYTES:]

    def has_signed(self, text: str, lines: str) -> bool:
        """Return whether the lines with its name and key id, at least one, are signatures of this log over the text of a note."""
        found = list(islice(self.signatures_in(lines), SIGNATURES_MAX + 1))
        return 0 < len(found) <= SIGNATURES_MAX and all(
            is_signed(self.public_key, signature, text.encode()) for _, signature in found
        )


def read_verifier_key(text: str, *kinds: bytes) -> VerifierKey:
    """The key of one of these kinds in a text NAME+ID+KEY. Raises: NotAKey."""
    # The key is base64 and may have a plus sign of its own, a name has none.
    name, *rest = text.split("+", _KEY_PARTS - 1)
    is_name = name.isprintable() and name.split() == [name] and len(name.encode()) <= NAME_MAX_BYTES
    if len(rest) != _KEY_PARTS - 1 or not is_name:
        raise NotAKey("a verifier key is NAME+ID+KEY")
    try:
        raw = b64decode(rest[1], validate=True)
    except ValueError:
        raise NotAKey("the key is not base64") from None
    kind = raw[:1]
    if kind not in kinds or len(raw) != 1 + (ML_DSA_KEY_BYTES if kind == ML_DSA_WITNESS_KEY else KEY_BYTES):
        expected = " or ".join(f"an {ALGORITHMS[one]} key of type {one[0]}" for one in kinds)
        raise NotAKey(f"the key is not {expected}")
    key = VerifierKey(name, raw[1:], kind)
    if key.text != text:
        raise NotAKey("the id is not that of name and key")
    if kind != ML_DSA_WITNESS_KEY:
        require_usable(key.public_key)
    return key


def read_checkpoint(note: str, public_keys: Iterable[bytes], origin: str | None = None) -> Checkpoint:
    """The checkpoint of a note that one of these keys signed under the log's own name. Raises: BadCheckpoint."""
    checkpoint = _read_unsigned(note, origin)
    return _require_signed(checkpoint, note, public_keys, "no key of the auditor signed the checkpoint")


def read_checkpoint_of(note: str, keys: Iterable[AuditorKey]) -> Checkpoint:
    """Read a checkpoint signed by a key that was not retired before the log had this size, as `read_checkpoint` does. Raises: BadCheckpoint."""
    checkpoint = _read_unsigned(note, None)
    in_service = (key.public_key for key in keys if key.signs_checkpoint_of(checkpoint.size))
    error = f"no key that the auditor had at {checkpoint.size} leaves signed the checkpoint"
    return _require_signed(checkpoint, note, in_service, error)


def _read_unsigned(note: str, origin: str | None) -> Checkpoint:
    if len(note) > NOTE_MAX_CHARACTERS:
        raise BadCheckpoint(f"a checkpoint has at most {NOTE_MAX_CHARACTERS} characters")
    body, separator, signatures = note.rpartition("\n\n")
    lines = body.split("\n")
    if not separator or len(lines) < _HEAD_LINES or not all(lines):
        raise BadCheckpoint("a checkpoint has origin, size and root, an empty line, and signatures")
    if signatures and not all(_is_signature_line(line) for line in signatures.split("\n")[:-1]):
        raise BadCheckpoint("behind the empty line a checkpoint has lines of signatures alone")
    if signatures and not signatures.endswith("\n"):
        raise BadCheckpoint("the last line of a checkpoint ends with a line feed")
    checkpoint = Checkpoint(lines[0], read_size(lines[1]), read_hash(lines[2]))
    if checkpoint.size == 0 and checkpoint.root != root_of([]):
        raise BadCheckpoint("a log without leaves has the SHA-256 of nothing as its root")
    if origin is not None and checkpoint.origin != origin:
        raise BadCheckpoint(f"the checkpoint is of {checkpoint.origin!r}, not of {origin!r}")
    return checkpoint


def _is_signature_line(line: str) -> bool:
    """Return whether a line has the form of a signature: a name without blanks or plus, and base64 of a key id and further bytes."""
    name, _, signature = line.removeprefix(_PREFIX).partition(" ")
    try:
        raw = _base64(signature)
    except BadCheckpoint:
        return False
    is_name = line.startswith(_PREFIX) and name.isprintable() and name.split() == [name] and "+" not in name
    return is_name and len(raw) > _KEY_ID_BYTES


def _require_signed(
    checkpoint: Checkpoint, note: str, public_keys: Iterable[bytes], error: str
) -> Checkpoint:
    signers = (VerifierKey(checkpoint.origin, key, LOG_KEY) for key in public_keys)
    if not any(signer.has_signed(text_of(note), note.rpartition("\n\n")[2]) for signer in signers):
        raise UnsignedCheckpoint(error)
    return checkpoint


def text_of(note: str) -> str:
    """The signed text of a note, up to the empty line before its signatures."""
    return note.rpartition("\n\n")[0] + "\n"


def cosigned_message(text: str, timestamp: int, witness: VerifierKey) -> bytes:
    """Return the bytes that a witness signs for the text of a checkpoint, by the kind of its key. Raises: BadCheckpoint."""
    if witness.kind == WITNESS_KEY:
        return f"cosignature/v1\ntime {timestamp}\n{text}".encode()
    tree = _read_unsigned(f"{text}\n", None)
    name, origin = witness.name.encode(), tree.origin.encode()
    if len(origin) > NAME_MAX_BYTES or tree.size > SIZE_MAX:
        raise BadCheckpoint(f"an origin has at most {NAME_MAX_BYTES} bytes, a tree at most {SIZE_MAX} leaves")
    start = bytes(_COUNT_BYTES)
    return b"".join(
        (
            *(b"subtree/v1\n\x00", bytes([len(name)]), name, timestamp.to_bytes(_TIME_BYTES, "big")),
            *(bytes([len(origin)]), origin, start, tree.size.to_bytes(_COUNT_BYTES, "big"), tree.root),
        )
    )


def cosignature_line(witness: VerifierKey, timestamp: int, signature: bytes) -> str:
    """The line of a cosignature, without its line feed."""
    raw = witness.key_id + timestamp.to_bytes(_TIME_BYTES, "big") + signature
    return f"{_PREFIX}{witness.name} {b64encode(raw).decode()}"


def other_signers(note: str) -> int:
    """How many signature lines of a note name another signer than the log; they were not judged."""
    signers = (
        line.removeprefix(_PREFIX).rpartition(" ")[0]
        for line in note.rpartition("\n\n")[2].split("\n")
        if line
    )
    return sum(signer != note.partition("\n")[0] for signer in signers)


def find_cosignature(lines: str, text: str, witness: VerifierKey) -> tuple[int, str] | None:
    """The time and the line of a valid cosignature by this witness over the text of a checkpoint."""
    signed = is_ml_dsa_signed if witness.kind == ML_DSA_WITNESS_KEY else is_signed
    for line, raw in islice(witness.signatures_in(lines), SIGNATURES_MAX):
        timestamp, signature = int.from_bytes(raw[:_TIME_BYTES], "big"), raw[_TIME_BYTES:]
        # Without a time an ML-DSA-44 cosignature is of a subtree: not of the largest tree that the witness has seen.
        if not 0 < timestamp <= TIMESTAMP_MAX:
            continue
        try:
            if signed(witness.public_key, signature, cosigned_message(text, timestamp, witness)):
                return timestamp, line
        except BadCheckpoint:
            return None
    return None


def read_size(text: str) -> int:
    """The size of a tree in its one spelling. Raises: BadCheckpoint."""
    if not text.isascii() or not text.isdigit() or len(text) > DIGITS_MAX or str(int(text)) != text:
        raise BadCheckpoint("the size of a tree is a decimal number")
    return int(text)


def read_hash(text: object) -> bytes:
    """The 32 bytes of a base64 text in its one spelling. Raises: BadCheckpoint."""
    raw = _base64(text)
    if len(raw) != HASH_BYTES:
        raise BadCheckpoint(f"a hash has {HASH_BYTES} bytes")
    return raw


def read_entries(tile: bytes) -> list[bytes]:
    """The entries of a tile: each behind its length in two bytes. Raises: BadCheckpoint."""
    entries, place = [], 0
    while place < len(tile):
        length = int.from_bytes(tile[place : place + 2], "big")
        entry = tile[place + 2 : place + 2 + length]
        if len(entry) != length or place + 2 > len(tile):
            raise BadCheckpoint("a tile of entries is cut off")
        entries.append(entry)
        place += 2 + length
    return entries


def tile_path(number: int, width: int) -> str:
    """The path of a tile behind its level: 1234067 is x001/x234/067; a partial one ends in .p/WIDTH."""
    groups = [f"{number % 1000:03d}"]
    while number := number // 1000:
        groups.insert(0, f"x{number % 1000:03d}")
    return "/".join(groups) + ("" if width == TILE_WIDTH else f".p/{width}")


def leaf_hash(entry: bytes) -> bytes:
    """The hash of a leaf."""
    return sha256(b"\x00" + entry).digest()


def root_of(leaves: Sequence[bytes]) -> bytes:
    """The root of the tree over these leaf hashes."""
    if not leaves:
        return sha256(b"").digest()
    # A stack of complete subtrees, as a binary counter counts them.
    stack: list[tuple[int, bytes]] = []
    for leaf in leaves:
        level, found = 0, leaf
        while stack and stack[-1][0] == level:
            level, found = level + 1, _inner(stack.pop()[1], found)
        stack.append((level, found))
    return reduce(lambda right, left: _inner(left, right), [node for _, node in reversed(stack)])


def proves_inclusion(index: int, size: int, leaf: bytes, hashes: Sequence[bytes], root: bytes) -> bool:
    """Return whether the hashes lead from leaf `index` to the root of `size` leaves (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size <= SIZE_MAX:
        return False
    found = _climb(index, size - 1, leaf, hashes)
    return found is not None and found[1] == root


def proves_consistency(
    old_size: int, size: int, old_root: bytes, root: bytes, hashes: Sequence[bytes]
) -> bool:
    """Return whether the older tree is the beginning of the other one (RFC 9162, 2.1.4.2)."""
    if not 0 <= old_size <= size <= SIZE_MAX:
        return False
    if old_size in {0, size}:
        return not hashes and (old_size == 0 or old_root == root)
    path = [old_root, *hashes] if old_size & (old_size - 1) == 0 else list(hashes)
    number, last = old_size - 1, size - 1
    while number % 2 == 1:
        number, last = number >> 1, last >> 1
    return bool(path) and _climb(number, last, path[0], path[1:]) == (old_root, root)


def _climb(number: int, last: int, node: bytes, hashes: Sequence[bytes]) -> tuple[bytes, bytes] | None:
    """The roots of the tree that ends with a node and of the whole one; None where the path has another length."""
    before = whole = node
    for sibling in hashes:
        if last == 0:
            return None
        if number % 2 == 1 or number == last:
            before, whole = _inner(sibling, before), _inner(sibling, whole)
            while number % 2 == 0 and number != 0:
                number, last = number >> 1, last >> 1
        else:
            whole = _inner(whole, sibling)
        number, last = number >> 1, last >> 1
    return (before, whole) if last == 0 else None


def _inner(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def _base64(text: object) -> bytes:
    try:
        raw = b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        raise BadCheckpoint("not base64") from None
    if not raw or b64encode(raw).decode() != text:
        raise BadCheckpoint("not canonical base64")
    return raw
