"""The body of add-checkpoint (C2SP tlog-witness): old size, proof, an empty line, the checkpoint."""

from base64 import b64encode
from collections.abc import Sequence

import msgspec

from hansa_verify import log

from .errors import SubmissionInvalid

HASHES_MAX = 63
BODY_MAX_BYTES = 64 * 1024
_OLD = "old "


class Submission(msgspec.Struct, frozen=True):
    """A checkpoint, and the proof that its log continues the one of `old_size` leaves."""

    old_size: int
    hashes: list[bytes]
    note: str

    @property
    def origin(self) -> str:
        """The name of the log, as the checkpoint states it."""
        return self.note.partition("\n")[0]


def read_submission(body: bytes) -> Submission:
    """Raises: SubmissionInvalid."""
    try:
        head, separator, note = body.decode("utf-8").partition("\n\n")
        old, *lines = head.split("\n")
        if not separator or not old.startswith(_OLD) or len(lines) > HASHES_MAX:
            raise SubmissionInvalid(
                f"The body must have the old size, at most {HASHES_MAX} hashes, an empty line and a checkpoint."
            )
        if "\x00" in note:
            raise SubmissionInvalid("A checkpoint has no character U+0000.")
        return Submission(
            log.read_size(old.removeprefix(_OLD)), [log.read_hash(line) for line in lines], note
        )
    except UnicodeDecodeError:
        raise SubmissionInvalid("The body is not valid UTF-8.") from None
    except log.BadCheckpoint as error:
        raise SubmissionInvalid(f"The body is invalid: {error}.") from None


def written(old_size: int, hashes: Sequence[bytes], note: str) -> bytes:
    """The body of a request."""
    lines = [f"{_OLD}{old_size}", *(b64encode(one).decode() for one in hashes)]
    return ("\n".join(lines) + "\n\n" + note).encode()
