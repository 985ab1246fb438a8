"""The log of a peer in which nothing happens, which grows by a leaf with each cycle of its audit, and its key as a witness."""

import os
import time
from collections.abc import Callable

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey

from hansa.foundation.values import merkle
from hansa.rooms.auditor.transparency.notes import checkpoint_text, origin_of, signed_note
from hansa.rooms.auditor.witnessing.keys import verifier_key
from hansa.rooms.auditor.witnessing.submission import written
from hansa_verify import VerifierKey, encoded, log


class QuietLog:
    """The log of one peer, and how it cosigns that of the registry."""

    def __init__(self, ledger_id: str) -> None:
        self._ledger_id = ledger_id
        self._key = Ed25519PrivateKey.generate()
        self._ml_dsa = MLDSA44PrivateKey.generate()
        self._nodes: dict[merkle.Node, bytes] = {}
        self._size = self._asked_size = 0

    @property
    def keys(self) -> dict[str, object]:
        """The key set of the auditor."""
        x = encoded(self._key.public_key().public_bytes_raw())
        return {"keys": [{"kid": "auditor-1", "kty": "OKP", "crv": "Ed25519", "x": x}]}

    @property
    def witness(self) -> dict[str, object]:
        """The registry as a witness, which cosigned no other log yet."""
        ed25519, ml_dsa = self._witness_keys
        return {"key": ed25519.text, "ml_dsa_44_key": ml_dsa.text, "logs": []}

    @property
    def _witness_keys(self) -> tuple[VerifierKey, VerifierKey]:
        first, second = (
            verifier_key(self._ledger_id, key.public_key().public_bytes_raw())
            for key in (self._key, self._ml_dsa)
        )
        return first, second

    def submission(self) -> bytes:
        """The body of the next request to cosign this log, a leaf larger than at the one before it."""
        self._nodes |= merkle.appended(self._size, self._nodes, [merkle.leaf_hash(os.urandom(32))])
        self._size += 1
        path = merkle.consistency_path(self._asked_size, self._size)
        hashes = [merkle.fold(leaves, self._nodes) for leaves in path]
        origin = origin_of(self._ledger_id)
        text = checkpoint_text(origin, self._size, merkle.fold((0, self._size), self._nodes))
        return written(self._asked_size, hashes, signed_note(text, origin, [self._key]))

    def was_cosigned(self) -> None:
        """Note that the registry has cosigned the last submission."""
        self._asked_size = self._size

    def cosigned(self, submission: bytes) -> bytes:
        """The cosignature of a checkpoint; the log of the registry is believed."""
        text = log.text_of(submission.decode().partition("\n\n")[2])
        now = int(time.time())
        signers: tuple[Callable[[bytes], bytes], ...] = (self._key.sign, self._ml_dsa.sign)
        lines = [
            log.cosignature_line(witness, now, sign(log.cosigned_message(text, now, witness)))
            for sign, witness in zip(signers, self._witness_keys, strict=True)
        ]
        return ("\n".join(lines) + "\n").encode()
