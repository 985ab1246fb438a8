"""Many agent cards of about 1.5 KB, as they would stand in the table after being published or mirrored.

- A card depends on its number alone, so that every bench and every size sees the same ones.
- Words follow Zipf's law over a vocabulary of 30,000; names, tags and prices are of about forty trades.
- Three cards in five are this registry's own, the rest mirrored from four peers; about two in a hundred are unlisted,
  inactive or suspended, and one in ten natives is a listing card without a DID.
"""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

import asyncpg

from bench.seed import WITHOUT_TIMEOUT
from hansa.rooms.catalogue import rules
from hansa.rooms.catalogue.card_formats import with_both_formats
from hansa.rooms.catalogue.form import check_card

CHUNK = 10_000
# Below this, keeping the indexes while rows arrive is cheaper than building them anew.
BULK = 50_000
NEWEST = datetime(2026, 11, 1, tzinfo=UTC)
BETWEEN_CHANGES = timedelta(seconds=9)
JUDGED = 50
VOCABULARY = 30_000
# Every sentence is a piece of one text of so many words.
TEXT_WORDS = 300_000
DEVELOPERS = 5_000

OWN_HOME = (None, "hansa.local", "AVT")
PEERS = (
    ("north.example.org", "north.example.org", "NRD"),
    ("harbour.example.com", "harbour.example.com", "AVT"),
    ("meridian.example.net", "meridian.example.net", "MER"),
    ("lagoon.example.org", "lagoon.example.org", "LAG"),
)
_HOMES = (*(OWN_HOME,) * 6, *PEERS)

TRADES = {
    "translation": ("Translator", "translate documents between languages", "translation languages documents localisation"),
    "weather": ("Forecaster", "forecast weather and storms for a place", "weather forecast climate storms"),
    "invoices": ("Invoice Reader", "extract lines and totals from invoices", "invoices accounting extraction pdf"),
    "contracts": ("Contract Reviewer", "review contracts and mark risky clauses", "legal contracts review clauses"),
    "freight": ("Freight Planner", "plan freight routes and book carriers", "freight logistics routing carriers"),
    "images": ("Image Maker", "draw pictures from a description", "images generation art illustration"),
    "speech": ("Transcriber", "write down what is said in a recording", "speech audio transcription subtitles"),
    "code": ("Code Reviewer", "review changes to source code and find faults", "code review testing python"),
    "security": ("Security Scanner", "look for known weaknesses in a system", "security scanning vulnerabilities audit"),
    "markets": ("Market Watcher", "follow prices on exchanges and report moves", "finance markets prices trading"),
    "taxes": ("Tax Adviser", "compute taxes due and prepare returns", "taxes finance accounting returns"),
    "travel": ("Travel Agent", "find flights, trains and hotels", "travel flights hotels booking"),
    "recipes": ("Cook", "suggest recipes for what is in the kitchen", "recipes cooking food nutrition"),
    "medicine": ("Literature Nurse", "summarise medical studies", "medicine research studies summaries"),
    "genomics": ("Genome Analyst", "align sequences and annotate variants", "genomics biology sequences variants"),
    "chemistry": ("Molecule Finder", "propose molecules with wanted properties", "chemistry molecules synthesis materials"),
    "maps": ("Cartographer", "draw maps and answer questions about places", "maps geography geocoding places"),
    "satellites": ("Earth Observer", "find changes in satellite pictures", "satellites imagery earth monitoring"),
    "farming": ("Farm Adviser", "advise on sowing, watering and harvest", "farming agriculture crops irrigation"),
    "energy": ("Energy Broker", "buy and sell electricity by the quarter hour", "energy electricity grid trading"),
    "support": ("Support Desk", "answer customers and open tickets", "support customers tickets chat"),
    "sales": ("Sales Scout", "find and rank possible customers", "sales leads ranking outreach"),
    "hiring": ("Recruiter", "match applicants with openings", "hiring recruiting applicants jobs"),
    "teaching": ("Tutor", "explain a subject step by step", "teaching education tutoring lessons"),
    "mathematics": ("Proof Checker", "check proofs and solve equations", "mathematics proofs algebra solving"),
    "statistics": ("Data Analyst", "describe tables and draw charts", "data statistics charts tables"),
    "databases": ("Query Writer", "turn questions into database queries", "databases sql queries analytics"),
    "search": ("Web Researcher", "search the web and cite what was found", "research web search citations"),
    "news": ("News Digester", "summarise the news of the day", "news summaries journalism media"),
    "patents": ("Patent Searcher", "find earlier patents for an invention", "patents legal research inventions"),
    "music": ("Composer", "write music in a wanted style", "music composition audio midi"),
    "video": ("Video Editor", "cut and subtitle videos", "video editing subtitles media"),
    "games": ("Game Master", "run text adventures for several players", "games storytelling entertainment play"),
    "robots": ("Robot Dispatcher", "send robots to tasks in a warehouse", "robots warehouse automation planning"),
    "sensors": ("Sensor Watcher", "watch measurements and raise alarms", "sensors monitoring alarms telemetry"),
    "identity": ("Identity Checker", "check papers and faces for a match", "identity verification compliance documents"),
    "insurance": ("Claims Handler", "judge insurance claims and estimate damage", "insurance claims damage estimates"),
    "property": ("Property Valuer", "estimate the value of houses and land", "property housing valuation land"),
    "shopping": ("Shopper", "compare offers and order goods", "shopping prices comparison orders"),
    "calendar": ("Scheduler", "find a time that suits everybody", "calendar scheduling meetings planning"),
}  # fmt: skip
MANNERS = (
    "Swift",
    "Careful",
    "Quiet",
    "Northern",
    "Open",
    "Steady",
    "Bright",
    "Second",
    "Deep",
    "Plain",
    "Silver",
    "Early",
)
LANGUAGES = (
    "english",
    "german",
    "french",
    "spanish",
    "japanese",
    "arabic",
    "hindi",
    "portuguese",
    "polish",
    "swahili",
)
TEES = ("intel-tdx", "amd-sev-snp", "aws-nitro")
_SYLLABLES = [consonant + vowel for consonant in "bcdfghjklmnprstvwz" for vowel in "aeiou"]

# What the loader says of each card, in the order of the rows; everything else takes its default.
COLUMNS = (
    "uuid", "did", "developer_id", "human_readable_id", "settlement_currency", "trust_domain", "source_registry",
    "name", "description", "card_data", "card_bytes", "pricing", "tags", "tee_type", "name_text", "description_text",
    "tags_text", "skills_text", "is_active", "unlisted", "status", "status_since", "encircled", "created_at",
    "updated_at", "changed_xid", "search_xid", "liveness", "liveness_checked_at", "last_alive_at", "verified_jobs",
    "bonded", "hidden_since", "peer_version", "peer_status",
)  # fmt: skip

_COUNT_CLASSES = """
DELETE FROM catalogue_card_class;
INSERT INTO catalogue_card_class
SELECT is_active, catalogue_one(source_registry), settlement_currency, catalogue_one(tee_type), encircled, count(*)
FROM catalogue_card WHERE NOT unlisted AND status = 'active' GROUP BY 1, 2, 3, 4, 5;
"""


async def load_cards(dsn: str, count: int, *, first: int = 0, own_alone: bool = False) -> None:
    """Write the cards `first` to `first + count - 1` as if each had been published or mirrored, one after another.

    With `own_alone` the mirrored ones of these are left out.
    """
    judge_some(first, count)
    connection = await asyncpg.connect(dsn, server_settings=WITHOUT_TIMEOUT)
    try:
        set_aside = await _without_indexes(connection) if count >= BULK else []
        await connection.execute("ALTER TABLE catalogue_card DISABLE TRIGGER USER")
        # As after the sweep that takes them into the index of texts.
        await connection.execute("ALTER TABLE catalogue_card ALTER texts_sorted SET DEFAULT true")
        for begin in range(first, first + count, CHUNK):
            numbers = range(begin, min(begin + CHUNK, first + count))
            await _load_chunk(
                connection, [one for one in numbers if not own_alone or home_of(one) == OWN_HOME]
            )
        await connection.execute("ALTER TABLE catalogue_card ENABLE TRIGGER USER")
        await connection.execute("ALTER TABLE catalogue_card ALTER texts_sorted SET DEFAULT false")
        await connection.execute("SET maintenance_work_mem = '512MB'")
        for definition in set_aside:
            await connection.execute(definition, timeout=3600)
        await connection.execute(_COUNT_CLASSES, timeout=3600)
        await connection.execute("VACUUM ANALYZE catalogue_card", timeout=3600)
    finally:
        await connection.close()


def judge_some(first: int, count: int) -> None:
    """Some of the cards as the catalogue itself judges them: each must be stored as it stands here."""
    for number in range(first, first + count, max(1, count // JUDGED)):
        card = card_of(number)
        assert check_card(card).card == card, check_card(card).troubles


def card_of(number: int) -> dict[str, Any]:
    """The document of the card with that number, both halves, as it is stored."""
    lot = random.Random(number)
    trade, (role, ability, words) = lot.choice(_trades())
    name = f"{lot.choice(MANNERS)} {trade.capitalize()} {role} {number:x}"
    host = f"https://{_sentence(lot, 1).lower()}-{number}.agents.example.com"
    skills = [_skill(lot, trade, ability, words.split(), position) for position in range(lot.randint(1, 4))]
    capabilities: dict[str, Any] = {"streaming": lot.random() < 0.5, "pushNotifications": lot.random() < 0.2}
    if lot.random() < 0.05:
        capabilities["teeDetails"] = {"type": lot.choice(TEES), "attestation": f"{host}/tee"}
    return with_both_formats(
        {
            "name": name,
            "description": f"Agents and people ask it to {ability}. {_sentence(lot, lot.randint(12, 40))}",
            "version": f"{lot.randint(1, 4)}.{lot.randint(0, 20)}.0",
            "supportedInterfaces": [
                {"url": f"{host}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
            ],
            "provider": {"organization": _sentence(lot, 2), "url": host},
            "capabilities": capabilities,
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain", "application/json"],
            "skills": skills,
            "tags": [*words.split()[: lot.randint(1, 4)], lot.choice(LANGUAGES)],
            "pricing": _pricing(lot),
            "humanReadableId": f"{trade}/{role.lower().replace(' ', '-')}-{number}",
        }
    )


def did_of(number: int) -> str | None:
    """The DID of the card's agent; None for a listing card."""
    _, trust_domain, _ = home_of(number)
    if trust_domain == OWN_HOME[1] and number % 50 == 7:
        return None
    return f"did:hansa:{trust_domain}:{_uuid(number, 1)}"


def home_of(number: int) -> tuple[str | None, str, str]:
    """The registry that the card is mirrored from, its trust domain and its currency."""
    return _HOMES[number % len(_HOMES)]


async def _load_chunk(connection: "asyncpg.Connection[asyncpg.Record]", numbers: Sequence[int]) -> None:
    async with connection.transaction():
        xid = await connection.fetchval("SELECT pg_current_xact_id()::text::bigint")
        await connection.copy_records_to_table(
            "catalogue_card", columns=COLUMNS, records=_rows(numbers, xid), timeout=600
        )


def _rows(numbers: Sequence[int], xid: int) -> Iterator[tuple[Any, ...]]:
    for number in numbers:
        card = card_of(number)
        source, trust_domain, currency = home_of(number)
        if source is not None:
            card["federation_metadata"] = {"source_registry": source, "first_synced_from": source}
        content = rules.findable(card)
        lot = random.Random(-number)
        is_active, unlisted, status, since = _status(lot)
        updated = NEWEST + number * BETWEEN_CHANGES
        alive = lot.choices(("unknown", "alive", "unreachable"), (3, 6, 1))[0]
        yield (
            _uuid(number, 0), did_of(number), number % DEVELOPERS + 1 if source is None else None,
            card["humanReadableId"], currency, trust_domain, source, content.name, content.description,
            content.card_json, len(content.card_json.encode()), content.pricing_json, content.tags, content.tee_type,
            content.name_text, content.description_text, content.tags_text, content.skills_text, is_active, unlisted,
            # A mirror has the status that its home states, without a day.
            status, since if source is None else None, lot.random() < 0.01, updated - timedelta(hours=lot.expovariate(0.01)), updated, xid, xid,
            alive, None if alive == "unknown" else updated, updated if alive == "alive" else None,
            int(lot.paretovariate(0.7)) - 1 if lot.random() < 0.4 else 0, lot.random() < 0.1,
            None if is_active and not unlisted and status == "active" else updated, None if source is None else 1,
            "active" if source is None else status,
        )  # fmt: skip


def _status(lot: random.Random) -> tuple[bool, bool, str, date | None]:
    """is_active, unlisted, status and since when."""
    fate = lot.random()
    suspended = fate < 0.005
    return (
        not 0.005 <= fate < 0.012,
        0.012 <= fate < 0.02,
        "suspended" if suspended else "active",
        date(2026, 10, 1) if suspended else None,
    )


def _skill(lot: random.Random, trade: str, ability: str, tags: list[str], position: int) -> dict[str, Any]:
    return {
        "id": f"{trade}-{position}",
        "name": f"{_sentence(lot, 2)} {trade}",
        "description": f"It can {ability}. {_sentence(lot, lot.randint(6, 20))}",
        "tags": lot.sample(tags, lot.randint(1, 3)),
        "examples": [_sentence(lot, lot.randint(4, 9))],
    }


def _pricing(lot: random.Random) -> dict[str, Any]:
    model = lot.choice(("per-request", "per-request", "per-token", "subscription"))
    return {"model": model, "base_rate": 0 if lot.random() < 0.3 else round(lot.lognormvariate(-1, 1), 4)}


def _sentence(lot: random.Random, words: int) -> str:
    """So many words, the common ones more often."""
    text = _text()
    begin = lot.randrange(len(text) - words)
    return " ".join(text[begin : begin + words]).capitalize()


@cache
def _text() -> list[str]:
    lot = random.Random(1)
    words = {"".join(lot.choices(_SYLLABLES, k=lot.randint(2, 4))): None for _ in range(50_000)}
    vocabulary = list(words)[:VOCABULARY]
    return lot.choices(vocabulary, weights=[1 / rank for rank in range(1, VOCABULARY + 1)], k=TEXT_WORDS)


@cache
def _trades() -> list[tuple[str, tuple[str, str, str]]]:
    return list(TRADES.items())


def _uuid(number: int, kind: int) -> UUID:
    """A random-looking version 4 UUID that the number decides."""
    return UUID(int=random.Random(2 * number + kind).getrandbits(128), version=4)


async def _without_indexes(connection: "asyncpg.Connection[asyncpg.Record]") -> list[str]:
    """Drop every index that no constraint holds; returns their definitions."""
    found = await connection.fetch(
        "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'catalogue_card'"
        " AND indexname NOT IN (SELECT conname FROM pg_constraint WHERE conrelid = 'catalogue_card'::regclass)"
    )
    for index in found:
        await connection.execute(f'DROP INDEX "{index["indexname"]}"')
    return [index["indexdef"] for index in found]
