"""Discovery finds the intended agents: measured over the corpus, and held for pairs that must never change places."""

from collections.abc import AsyncIterator
from pathlib import Path
from statistics import mean

import pytest

from tests.founded import open_copy
from tests.registry import DatabaseFarm, TestRegistry
from tests.relevance.asking import ask, publish_corpus, rankings
from tests.relevance.corpus import queries
from tests.relevance.ndcg import ndcg

NDCG_FLOOR = 0.81
# The query, a card, and one that may come only after it, if at all.
PAIRS = [
    ("Flight Finder", "wayfarer/flight-finder", "vuelos/buscador-vuelos"),
    ("translate a contract into German", "polyglot/contract-translator", "polyglot/quick-text"),
    ("translation", "polyglot/quick-text", "brightmind/megabot"),
    ("invoices", "paperwise/invoice-extract", "brightmind/bizgenius"),
    ("contract review", "lexwerk/contract-review", "brightmind/bizgenius"),
    ("weather", "nimbus/forecast", "brightmind/megabot"),
    ("weather forecast", "nimbus/forecast", "pogoda/nimbus-lite"),
    ("travel", "wayfarer/trip-planner", "brightmind/megabot"),
    ("chess", "checkmate/chess-coach", "brightmind/megabot"),
    ("code review", "reviewdog/code-reviewer", "bytewright/code-writer"),
    ("solar panel roof design", "wattsmart/solar-designer", "suncatch/solar-irradiance"),
    ("flood", "hydra/flood-watch", "supplynet/supplier-risk"),
    ("museum", "curatoria/museum-guide", "inclusio/accessible-venues"),
    ("crypto tax", "coinbooks/crypto-tax", "taxpilot/us-return"),
    ("vulnerabilty scaner", "palisade/vulnerability-scanner", "keyhole/access-reviewer"),
    ("kubern", "kubewarden/cluster-operator", "devhaus/devops-berater"),
    ("契約書", "keiyaku/keiyakusho-review", "tokyo-words/nihongo-honyaku"),
]


@pytest.fixture(scope="module")
async def stocked(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[TestRegistry]:
    """A registry that holds the corpus."""
    directory: Path = tmp_path_factory.mktemp("relevance")
    async with open_copy(database_farm, directory) as registry:
        await publish_corpus(registry)
        yield registry


async def test_discovery_finds_what_is_meant(stocked):
    asked = queries()
    found = await rankings(stocked, asked)
    reached = mean(ndcg(found[query.id], query.judgments) for query in asked)
    assert reached >= NDCG_FLOOR, "see `python -m tests.relevance.measure`"


async def test_a_card_that_is_meant_comes_before_one_that_only_says_the_words(stocked):
    wrong = []
    for q, meant, other in PAIRS:
        found = await ask(stocked, q, limit=20)
        if meant not in found or (other in found and found.index(other) < found.index(meant)):
            wrong.append((q, meant, other, found))
    assert wrong == []
