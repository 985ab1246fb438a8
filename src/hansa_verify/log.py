"""Whether a tiled log is one tree under a checkpoint that its auditor signed, and whether a leaf or an older log is in it.

Checkpoints are signed notes (C2SP signed-note, tlog-checkpoint) with Ed25519; trees are those of RFC 6962.
"""

from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

NOTE_MAX_CHARACTERS = 64 * 1024
SIGNATURES_MAX = 32
HASH_BYTES = 32
SIZE_MAX = 2**62
DIGITS_MAX = 19
ROOT_LINE = 2
TILE_WIDTH = 256
_ED25519 = b"\x01"
_KEY_ID_BYTES = 4
_PREFIX = "\u2014 "


class BadCheckpoint(ValueError):
    """The note is not a checkpoint signed by one of the keys; the message is one line."""


class UnsignedCheckpoint(BadCheckpoint):
    """The note is a checkpoint that none of the keys signed."""


@dataclass(frozen=True)
class Checkpoint:
    """A tree of `size` leaves with this root, of the log `origin`."""

    origin: str
    size: int
    root: bytes


def read_checkpoint(note: str, public_keys: Iterable[bytes], origin: str | None = None) -> Checkpoint:
    """The checkpoint of a note that one of these keys signed under the log's own name. Raises: BadCheckpoint."""
    if len(note) > NOTE_MAX_CHARACTERS:
        raise BadCheckpoint(f"a checkpoint has at most {NOTE_MAX_CHARACTERS} characters")
    text, separator, signatures = note.rpartition("\n\n")
    text += "\n"
    lines = text.split("\n")
    if not separator or len(lines) <= ROOT_LINE + 1 or not all(lines[:-1]):
        raise BadCheckpoint("a checkpoint has origin, size and root, an empty line, and signatures")
    checkpoint = Checkpoint(lines[0], read_size(lines[1]), read_hash(lines[ROOT_LINE]))
    if origin is not None and checkpoint.origin != origin:
        raise BadCheckpoint(f"the checkpoint is of {checkpoint.origin!r}, not of {origin!r}")
    if not any(_is_signed(text, signatures, checkpoint.origin, key) for key in public_keys):
        raise UnsignedCheckpoint("no key of the auditor signed the checkpoint")
    return checkpoint


def text_of(note: str) -> str:
    """The signed text of a note, up to the empty line before its signatures."""
    return note.rpartition("\n\n")[0] + "\n"


def read_size(text: str) -> int:
    """The size of a tree in its one spelling. Raises: BadCheckpoint."""
    if not text.isascii() or not text.isdigit() or len(text) > DIGITS_MAX or str(int(text)) != text:
        raise BadCheckpoint("the size of a tree is a decimal number")
    return int(text)


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
    _, root = stack.pop()
    while stack:
        root = _inner(stack.pop()[1], root)
    return root


def proves_inclusion(index: int, size: int, leaf: bytes, hashes: Sequence[bytes], root: bytes) -> bool:
    """Whether the hashes lead from leaf `index` to the root of `size` leaves (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size <= SIZE_MAX:
        return False
    number, last, found = index, size - 1, leaf
    for sibling in hashes:
        if last == 0:
            return False
        if number % 2 == 1 or number == last:
            found = _inner(sibling, found)
            while number % 2 == 0 and number != 0:
                number, last = number >> 1, last >> 1
        else:
            found = _inner(found, sibling)
        number, last = number >> 1, last >> 1
    return last == 0 and found == root


def proves_consistency(
    old_size: int, size: int, old_root: bytes, root: bytes, hashes: Sequence[bytes]
) -> bool:
    """Whether the older tree is the beginning of the other one (RFC 9162, 2.1.4.2)."""
    if not 0 <= old_size <= size <= SIZE_MAX:
        return False
    if old_size in {0, size}:
        return not hashes and (old_size == 0 or old_root == root)
    path = [old_root, *hashes] if old_size & (old_size - 1) == 0 else list(hashes)
    if not path:
        return False
    number, last = old_size - 1, size - 1
    while number % 2 == 1:
        number, last = number >> 1, last >> 1
    old_found = found = path[0]
    for sibling in path[1:]:
        if last == 0:
            return False
        if number % 2 == 1 or number == last:
            old_found, found = _inner(sibling, old_found), _inner(sibling, found)
            while number % 2 == 0 and number != 0:
                number, last = number >> 1, last >> 1
        else:
            found = _inner(found, sibling)
        number, last = number >> 1, last >> 1
    return last == 0 and old_found == old_root and found == root


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


def _inner(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def _is_signed(text: str, signatures: str, name: str, public_key: bytes) -> bool:
    key_id = sha256(f"{name}\n".encode() + _ED25519 + public_key).digest()[:_KEY_ID_BYTES]
    for line in signatures.split("\n")[:SIGNATURES_MAX]:
        signer, _, encoded = line.removeprefix(_PREFIX).rpartition(" ")
        if not line.startswith(_PREFIX) or signer != name:
            continue
        try:
            raw = _base64(encoded)
            if raw[:_KEY_ID_BYTES] == key_id:
                Ed25519PublicKey.from_public_bytes(public_key).verify(raw[_KEY_ID_BYTES:], text.encode())
                return True
        except (BadCheckpoint, InvalidSignature, ValueError):
            continue
    return False


def _base64(text: object) -> bytes:
    try:
        raw = b64decode(text, validate=True) if isinstance(text, str) else b""
    except (BadBase64, ValueError):
        raise BadCheckpoint("not base64") from None
    if not raw or b64encode(raw).decode() != text:
        raise BadCheckpoint("not canonical base64")
    return raw
