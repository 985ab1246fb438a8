"""Text that a stranger wrote, made fit to be shown beside other text.

Invisible characters are left out: signs that turn the order of characters, joiners between plain characters, fillers.
"""

import re
import unicodedata

COMBINING_MARKS_MAX = 4
NOTHING_TO_SEE = "(nothing that can be seen)"
FIRST_STRONG_ISOLATE, POP_ISOLATE = "\u2068", "\u2069"

# Letters by their category, and yet blank.
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_JOINERS = frozenset("\u200c\u200d")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_MARKS = frozenset({"Mn", "Me"})
_LAID_OUT = frozenset("\n\t")
_RUN_BACK = frozenset({"R", "AL", "AN"})
# Control characters but tab and new line, and what turns the direction of a text or ends a line.
_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_UNSEEN_ASCII = {code: None for code in (*range(32), 127) if chr(code) not in _LAID_OUT}


def seen(text: str) -> str:
    """Return the text without characters that hide, turn or pile up."""
    if text.isascii():
        return text.translate(_UNSEEN_ASCII)
    stored: list[str] = []
    marks = 0
    for position, letter in enumerate(text):
        if letter in _JOINERS:
            # Persian, Indic scripts and emoji are joined; between plain letters a joiner only hides.
            if _joins(text, position):
                stored.append(letter)
            continue
        category = unicodedata.category(letter)
        if letter in _FILLERS or (category in _UNSEEN and letter not in _LAID_OUT):
            continue
        marks = marks + 1 if category in _MARKS else 0
        if marks <= COMBINING_MARKS_MAX:
            stored.append(letter)
    return "".join(stored)


def escaped(text: str) -> str:
    """Return the text with characters that act on a terminal or turn a line as escapes: `u001b` after a backslash."""
    return _ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def acts(text: str) -> bool:
    """Return whether the text has characters that act on a terminal or turn a line, which `escaped` would replace."""
    return _ACTING.search(text) is not None


def plain(text: str) -> str:
    """Return free text of a request as it is stored: NFC, trimmed. Raises: ValueError on characters that act or turn a line."""
    if acts(text):
        raise ValueError(
            "must have no control characters but tab and new line, and none that turn the direction of a text"
        )
    return unicodedata.normalize("NFC", text).strip()


def plain_and_visible(text: str) -> str:
    """Return the same, of a text that must not be empty. Raises: ValueError."""
    if not (stored := plain(text)):
        raise ValueError("must contain visible text")
    return stored


def legible(text: str) -> str:
    """The text as it is seen, or a word for one of which nothing is."""
    return seen(text).strip() or NOTHING_TO_SEE


def apart(text: str) -> str:
    """Return the text as it is seen, for a place without markup: right-to-left characters turn nothing around them."""
    shown = legible(text)
    runs_back = any(unicodedata.bidirectional(letter) in _RUN_BACK for letter in shown)
    return f"{FIRST_STRONG_ISOLATE}{shown}{POP_ISOLATE}" if runs_back else shown


def _joins(text: str, position: int) -> bool:
    around = text[max(0, position - 1) : position] + text[position + 1 : position + 2]
    return len(around) == 2 and not any(letter.isascii() or letter in _JOINERS for letter in around)  # noqa: PLR2004
