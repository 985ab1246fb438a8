"""Text as search compares it: without case and accents, in words; writing without blanks in single characters.

- Latin and its neighbours are cut into words, and the English endings of words are taken off (`stemmed`).
- Chinese, Japanese, Thai, Lao, Khmer and Burmese put no blanks between words: a run of such characters is found as the
  same run anywhere.
- The text that a reader types is cut alike. It is never a language: no character of it commands anything.
"""

import re
import unicodedata
from collections.abc import Iterable

import msgspec
import tantivy

WORD_MAX = 64
WORDS_MAX = 12
RUN_MAX = 40
# So much of a DID, or of its last part, is not taken for a word.
DID_MIN = 8

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
_RUN = re.compile(f"[{_UNSPACED}]+")
_BLANKS = re.compile(r"\s+")

# Words that say nothing of what is wanted, and those that every card answers.
STOP_WORDS = frozenset(
    """
    a an and any are as at be by can do does for from give had has have help how i in into is it its me my need of on or
    our please should so some someone something than that the their them then there this to using us want wants was we
    what which who whose will with would you your find looking agent agents ai bot bots
    der die das den dem des und oder ein eine einen mit von im am zum zur fur ist mein meine le la les des du un une et pour el los las de en y para con que
    """.split()  # noqa: SIM905
)


class Word(msgspec.Struct, frozen=True):
    """A word of a query: as it stands (`plain`), and without its ending."""

    plain: str
    stem: str


class ParsedQuery(msgspec.Struct, frozen=True):
    """A query cut up. `whole` is all of it, as names are compared; `runs` are of writing without blanks.

    A DID is not cut up, and signs alone leave neither words nor runs.
    """

    whole: str
    words: tuple[Word, ...]
    runs: tuple[str, ...]

    def is_did_of(self, did: str | None) -> bool:
        """Return whether this is how a DID or its last part begins."""
        if did is None or len(self.whole) < DID_MIN:
            return False
        return did.lower().startswith(self.whole) or did.lower().rpartition(":")[2].startswith(self.whole)

    @property
    def is_empty(self) -> bool:
        return not self.words and not self.runs


def analyzer(*, stemmed: bool) -> tantivy.TextAnalyzer:
    """How texts are cut into words, in documents and in queries."""
    builder = (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(WORD_MAX))
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.ascii_fold())
    )
    return (builder.filter(tantivy.Filter.stemmer("english")) if stemmed else builder).build()


_PLAIN = analyzer(stemmed=False)
_STEMMED = analyzer(stemmed=True)


def parse_query(query: str) -> ParsedQuery:
    """Cut up the text that a reader typed. Words that say nothing are left out, unless there are no others."""
    whole = key_of(query)
    if whole.startswith("did:") and " " not in whole:
        return ParsedQuery(whole, (), ())
    text = unicodedata.normalize("NFKC", query)
    spaced = spelled_out(_RUN.sub(" ", text))
    words = [
        Word(plain, stem)
        for plain, stem in zip(_PLAIN.analyze(spaced), _STEMMED.analyze(spaced), strict=True)
    ]
    different = list(dict.fromkeys(words))
    significant = [word for word in different if word.plain not in STOP_WORDS] or different
    runs = dict.fromkeys(run[:RUN_MAX] for run in _RUN.findall(text))
    return ParsedQuery(whole, tuple(significant[:WORDS_MAX]), tuple(list(runs)[:WORDS_MAX]))


def key_of(name: str) -> str:
    """A name as it is compared whole."""
    return _BLANKS.sub(" ", folded(name)).strip()


def folded(text: str) -> str:
    """The text without case and accents."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in apart if not unicodedata.combining(character))


def spelled_out(text: str) -> str:
    """The text with the names of languages that are mostly signs as words: the signs would be lost."""
    if "+" not in text and "#" not in text:
        return text
    return _SHARP.sub(r"\1sharp", _PLUS.sub(r"\1plusplus", text))


_PLUS = re.compile(r"\b([cC])\+\+")
_SHARP = re.compile(r"\b([cCfF])#")


def words_of(text: str) -> str:
    """Return the words of a text with blanks between them."""
    return spelled_out(text if text.isascii() else _RUN.sub(" ", text))


def runs_of(texts: Iterable[str]) -> list[str]:
    """The runs without blanks in these texts, with blanks between their characters."""
    return [" ".join(run) for text in texts if not text.isascii() for run in _RUN.findall(text)]
