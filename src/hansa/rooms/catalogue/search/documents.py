"""Card as the index holds it: the parts by which it is searched, filtered, counted and sorted. The parts shown stay in the database.

A change of this form, or of the content of a document, raises `FORM`: an index of another form is built anew.
"""

import json
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

import tantivy

from hansa.rooms.catalogue.marks import grade_of
from hansa.rooms.catalogue.payment import is_paid, rate_of

from .query import LOCAL_ORIGIN
from .text import analyzer, key_of, runs_of, words_of

FORM = 7
STEMMED = "stemmed"
PLAIN = "plain"
# Prices of different currencies cannot be compared: in both directions those of this registry's come first.
ANOTHER_CURRENCY = 1e15
# Among equals the card that was here first comes first, on every page and in every process: a count has the number of the
# card in its last bits, a weight a share of it that no other difference is as small as.
NUMBER_BITS = 40
COUNT_MAX = 1 << 62 - NUMBER_BITS
# More than any count: what does not respond comes after everything else.
SILENT_LAST = 1 << 62
FIRST_OF_EQUALS = 0.001
TIE_BREAKS = 4096
FULL_GRADE = 7
# More verified jobs than these make no difference between cards of the same score.
JOBS_AMONG_EQUALS = 512
WEIGHT_OF_GRADE = 0.12
WEIGHT_OF_ALIVE = 0.05
WEIGHT_OF_VERIFIED = 0.04


class CardRow(NamedTuple):
    """Columns of a card that the index reads; `is_shown` is false for one that may not be found.

    A million of these may be read at a start, each straight from its row.
    """

    id: int
    is_shown: bool
    did: str | None
    human_readable_id: str
    name: str
    description: str
    tags: list[str]
    skills_text: str
    pricing: str | None
    source_registry: str | None
    settlement_currency: str
    is_stub: bool
    encircled: bool
    bonded: bool
    verified: bool
    verified_jobs: int
    agent_score: int
    liveness: str
    last_alive_at: datetime | None
    speaks_mcp: bool
    speaks_a2a: bool
    search_xid: int


@cache
def schema() -> tantivy.Schema:
    """The fields of a document."""
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("id", indexed=True, fast=True)
    for searched in ("name", "tags", "skills", "description"):
        builder.add_text_field(searched, tokenizer_name=STEMMED, index_option="freq")
    builder.add_text_field("words", tokenizer_name=PLAIN, index_option="basic")
    for run in ("name_runs", "text_runs"):
        builder.add_text_field(run, tokenizer_name=PLAIN, index_option="position")
    for key in ("name_key", "did", "flag"):
        builder.add_text_field(key, tokenizer_name="raw", index_option="basic")
    for counted in ("origin", "pricing", "tag"):
        builder.add_text_field(counted, tokenizer_name="raw", index_option="basic", fast=True)
    for number in ("alive", "jobs", "standing", "listed", "version"):
        builder.add_integer_field(number, fast=True)
    for measure in ("price_low", "price_high", "weight"):
        builder.add_float_field(measure, fast=True)
    return builder.build()


def register_analyzers(index: tantivy.Index) -> None:
    """Give the index the analyzers that its form names; they are not stored with it."""
    index.register_tokenizer(STEMMED, analyzer(stemmed=True))
    index.register_tokenizer(PLAIN, analyzer(stemmed=False))


def document_of(card: CardRow, own_currency: str) -> tantivy.Document:
    """The document of a card that may be found."""
    declared = None if card.pricing is None else json.loads(card.pricing)
    price = sorted_price(declared)
    is_foreign = card.settlement_currency != own_currency
    grade = grade_of(card.verified_jobs).grade if card.source_registry is None else 0
    name, skills = words_of(card.name), words_of(card.skills_text)
    tags = [words_of(tag) for tag in card.tags]
    members: dict[str, Any] = {
        "id": card.id,
        "name": name,
        "tags": tags,
        "skills": skills,
        "description": words_of(card.description),
        "words": [name, *tags, skills],
        "name_key": [key_of(card.name), card.human_readable_id],
        "did": [] if card.did is None else [card.did.lower(), card.did.lower().rpartition(":")[2]],
        "flag": _flags(card, is_foreign=is_foreign),
        "origin": card.source_registry or LOCAL_ORIGIN,
        "pricing": "paid" if is_paid(declared) else "free",
        "tag": card.tags,
        "version": card.search_xid,
        "alive": int(card.last_alive_at.timestamp()) if card.last_alive_at else 0,
        "jobs": _ranked(card, _jobs(card)),
        "standing": _ranked(card, _score(card)),
        "listed": _ranked(card, _score(card)) - (SILENT_LAST if card.liveness == "unreachable" else 0),
        "price_low": price + (ANOTHER_CURRENCY if is_foreign else 0.0),
        "price_high": price - (ANOTHER_CURRENCY if is_foreign else 0.0),
        "weight": _weight(card, grade) + _earliness(card),
    }
    name_runs, text_runs = runs_of([card.name, *card.tags]), runs_of([card.skills_text, card.description])
    members |= {"name_runs": name_runs} if name_runs else {}
    members |= {"text_runs": text_runs} if text_runs else {}
    return tantivy.Document.from_dict(members, schema())


def sorted_price(stated: Any) -> float:
    """Return the rate by which a stated price is sorted; a price without a rate is sorted as rate 0."""
    return min(float(rate_of(stated) or 0), ANOTHER_CURRENCY / 10)


def _flags(card: CardRow, *, is_foreign: bool) -> list[str]:
    flags = {
        "agent": card.did is not None,
        "verified": card.verified,
        "encircled": card.encircled,
        "bonded": card.bonded,
        "foreign": is_foreign,
        "mcp": card.speaks_mcp,
        "a2a": card.speaks_a2a,
        "answerable": not card.is_stub and card.liveness != "unreachable",
    }
    return [name for name, is_so in flags.items() if is_so]


def _score(card: CardRow) -> int:
    """The score first, then verified jobs; among equals who answers, then who is verified, then who put up a bond."""
    earned = card.agent_score * JOBS_AMONG_EQUALS + min(_jobs(card), JOBS_AMONG_EQUALS - 1)
    return earned * 8 + 4 * (card.liveness == "alive") + 2 * card.verified + card.bonded


def _jobs(card: CardRow) -> int:
    return card.verified_jobs if card.source_registry is None else 0


def _ranked(card: CardRow, count: int) -> int:
    return (min(count, COUNT_MAX) << NUMBER_BITS) - card.id


def _earliness(card: CardRow) -> float:
    return FIRST_OF_EQUALS * (1 - card.id % TIE_BREAKS / TIE_BREAKS)


def _weight(card: CardRow, grade: int) -> float:
    """Return the weight that gently lifts a card among equally good answers."""
    if card.is_stub or card.liveness == "unreachable":
        return 0.0
    return (
        WEIGHT_OF_ALIVE
        + WEIGHT_OF_GRADE * grade / FULL_GRADE
        + WEIGHT_OF_ALIVE * (card.liveness == "alive")
        + WEIGHT_OF_VERIFIED * card.verified
    )
