"""Queries of the index for a search.

- A search finds the cards that hold every word, in any field. Only where those are few (`FEW`) it also finds cards
  that hold most of the words, or at last any, words that begin as one of them does, and the words that a word which no
  card holds may be a misspelling of; these come after.
- A card whose name is the query, or begins with it, comes first.
"""

from collections.abc import Collection, Sequence

from tantivy import FieldType, Occur, Query, Searcher

from .documents import schema
from .query import SearchQuery
from .text import DID_MIN, ParsedQuery, Word

FEW = 10
BOOSTS = {"name": 3.0, "tags": 2.2, "skills": 1.4, "description": 1.0}
# How much the other fields count beside the best one.
TIE_BREAKER = 0.25
RUN_BOOSTS = {"name_runs": 8.0, "text_runs": 4.0}
NAME_IS = 400.0
NAME_BEGINS = 40.0
EVERY_WORD = 100.0
PREFIX_SCORE = 2.0
PREFIX_MIN = 2
FUZZY_SCORES = {"name": 2.4, "tags": 2.0, "skills": 1.2, "words": 0.6}
FUZZY_MIN = 4
FUZZIER_MIN = 8


def strict(parsed: ParsedQuery) -> Query:
    """Cards that hold every word."""
    every = [_word(word) for word in parsed.words] + [_run(run) for run in parsed.runs]
    return _either(_all_of(every), *_keys(parsed))


def lenient(parsed: ParsedQuery, unknown: Collection[Word], at_least: int) -> Query:
    """Cards that hold so many of the words, more or less; those that hold every one first."""
    parts = [_word_or_so(word, is_known=word not in unknown) for word in parsed.words]
    parts += [_run(run) for run in parsed.runs]
    most = Query.boolean_query([(Occur.Should, part) for part in parts], minimum_number_should_match=at_least)
    return _either(most, Query.const_score_query(strict(parsed), EVERY_WORD), *_keys(parsed))


def named(parsed: ParsedQuery) -> Query:
    """Return the query for cards whose name is the text asked for, or begins with it."""
    return _either(*_keys(parsed))


def called(key: str) -> Query:
    """Return the query for cards of this name, as `key_of` writes it."""
    return _term("name_key", key)


def ranked(found: Query, parsed: ParsedQuery) -> Query:
    """Return the same cards, those first whose name is the text asked for."""
    if not parsed.whole:
        return found
    return Query.boolean_query(
        [
            (Occur.Must, found),
            (Occur.Should, Query.const_score_query(_term("name_key", parsed.whole), NAME_IS)),
            (Occur.Should, Query.const_score_query(_begins("name_key", parsed.whole), NAME_BEGINS)),
        ]
    )


def filtered(found: Query, search_query: SearchQuery, alive_since: int) -> Query:
    """Narrow the found cards to the wanted ones."""
    conditions = [
        Query.term_set_query(schema(), "origin", list(search_query.origins))
        if search_query.origins
        else None,
        _term("pricing", search_query.pricing) if search_query.pricing else None,
        None
        if search_query.max_price is None
        else Query.range_query(schema(), "price_low", FieldType.Float, upper_bound=search_query.max_price),
        _term("tag", search_query.tag) if search_query.tag else None,
        Query.term_set_query(schema(), "tag", list(search_query.any_tags)) if search_query.any_tags else None,
        *(_term("flag", flag) for flag in _flags(search_query)),
        Query.range_query(schema(), "alive", FieldType.Integer, lower_bound=alive_since)
        if search_query.active_24h
        else None,
    ]
    parsed = [condition for condition in conditions if condition is not None]
    if not parsed:
        return found
    # Conditions decide and do not rank.
    return Query.boolean_query(
        [(Occur.Must, found), *((Occur.Must, Query.const_score_query(one, 0.0)) for one in parsed)]
    )


def is_known(word: Word, searcher: Searcher) -> bool:
    """Return whether some card holds the word, or a word that begins with it."""
    held = any(searcher.doc_freq(field, word.stem) for field in BOOSTS)
    return held or searcher.search(_begins("words", word.plain), 1, count=False).hits != []


def _flags(search_query: SearchQuery) -> list[str]:
    parsed = {
        "agent": search_query.agents_only,
        "verified": search_query.verified_only,
        "encircled": search_query.encircled_only,
        "bonded": search_query.bonded_only,
        "foreign": search_query.foreign_only,
        "answerable": search_query.answerable_only,
        "mcp": search_query.protocol == "mcp",
        "a2a": search_query.protocol == "a2a",
    }
    return [name for name, is_asked in parsed.items() if is_asked]


def _word(word: Word) -> Query:
    """The word in any field; the best field counts most."""
    fields = [Query.boost_query(_counted(field, word.stem), boost) for field, boost in BOOSTS.items()]
    return Query.disjunction_max_query(fields, TIE_BREAKER)


def _word_or_so(word: Word, *, is_known: bool) -> Query:
    """The word, and words that begin with it; where there are none, words that it may be a misspelling of."""
    alternatives = [_word(word)]
    if len(word.plain) >= PREFIX_MIN:
        alternatives.append(Query.const_score_query(_begins("words", word.plain), PREFIX_SCORE))
    if len(word.plain) >= FUZZY_MIN and not is_known:
        for distance in range(1, 3 if len(word.plain) >= FUZZIER_MIN else 2):
            alternatives.extend(
                Query.const_score_query(_nearly(field, word, distance), score / distance)
                for field, score in FUZZY_SCORES.items()
            )
    return Query.disjunction_max_query(alternatives, TIE_BREAKER)


def _nearly(field: str, word: Word, distance: int) -> Query:
    text = word.plain if field == "words" else word.stem
    return Query.fuzzy_term_query(schema(), field, text, distance)


def _run(run: str) -> Query:
    """A run of writing without blanks."""
    characters: list[str | tuple[int, str]] = list(run)
    alternatives = [
        Query.boost_query(
            Query.phrase_query(schema(), field, characters) if len(characters) > 1 else _term(field, run),
            boost,
        )
        for field, boost in RUN_BOOSTS.items()
    ]
    return Query.disjunction_max_query(alternatives, TIE_BREAKER)


def _keys(parsed: ParsedQuery) -> list[Query]:
    """A DID, its last part or the beginning of either, and the name itself."""
    if not parsed.whole:
        return []
    keys = [_begins("name_key", parsed.whole)]
    if len(parsed.whole) >= DID_MIN and " " not in parsed.whole:
        keys.append(_begins("did", parsed.whole))
    return [Query.const_score_query(key, 1.0) for key in keys]


def _term(field: str, value: str) -> Query:
    return Query.term_query(schema(), field, value, "basic")


def _counted(field: str, value: str) -> Query:
    return Query.term_query(schema(), field, value, "freq")


def _begins(field: str, beginning: str) -> Query:
    return Query.phrase_prefix_query(schema(), field, [beginning])


def _all_of(queries: Sequence[Query]) -> Query:
    return Query.boolean_query([(Occur.Must, query) for query in queries]) if queries else Query.empty_query()


def _either(*queries: Query) -> Query:
    return Query.boolean_query([(Occur.Should, query) for query in queries])
