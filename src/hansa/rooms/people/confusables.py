"""Display names that read alike.

The skeleton of a name replaces each character by the plainest one it can be mistaken for (Unicode TS 39). Two names
are one when their skeletons, case aside, agree as written (`Ian` with a capital i, `lan` with a small L) or after the
name was put in lower case (`Ian`, `ian`); either alone would let one of these pairs pass.
"""

import unicodedata
from functools import cache
from hashlib import sha256

# The data wraps characters of right-to-left scripts in these.
_MARK = "\u200e"


def readings(name: str) -> tuple[bytes, bytes]:
    """Fingerprints of the name as written and in lower case; another name that shares one of them reads alike."""
    plain = " ".join(unicodedata.normalize("NFKC", name).split())
    return _fingerprint(plain), _fingerprint(plain.casefold())


def _fingerprint(text: str) -> bytes:
    # Folding the case brings up new look-alikes: M has none, m may be r and n.
    return sha256(skeleton(skeleton(text).casefold()).encode()).digest()


def skeleton(text: str) -> str:
    """The text in the plainest characters that it can be mistaken for."""
    apart = unicodedata.normalize("NFD", text)
    # Twice, because a character may stand for several, and those have plainer ones of their own.
    for _ in range(2):
        apart = "".join(_plainest(character) for character in apart)
    return unicodedata.normalize("NFD", apart)


@cache
def _plainest(character: str) -> str:
    """The centre of the group of look-alikes: the one that has several, or that is several characters."""
    alike = _look_alikes(character)
    if len(alike) != 1:
        return character
    other = alike[0]
    if len(other) > 1 or len(_look_alikes(other)) > 1:
        return other
    return min(character, other)


def _look_alikes(text: str) -> list[str]:
    from confusable_homoglyphs.confusables import confusables_data

    found = confusables_data.get(text) or confusables_data.get(f"{_MARK}{text}{_MARK}") or []
    return [entry["c"].strip(_MARK) for entry in found]
