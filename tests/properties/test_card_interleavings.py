"""Writers of one card who meet: owners' writes, pulls and acts of enforcement, in every order of their statements."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from hansa.foundation.plumbing.web.entity_tags import PreconditionFailed
from hansa.rooms import catalogue
from hansa.rooms.catalogue.owning.edit import CardEdit, Editor, delete_card, edit_card, list_or_unlist
from hansa.rooms.catalogue.owning.ownership import ownership_in
from hansa.rooms.catalogue.records import Card
from hansa.rooms.catalogue.signatures import SignaturePolicy
from tests.founded import open_copy
from tests.properties.interleaving import Choose, Director, UseCase, directing, in_some_orders
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm, TestRegistry, card_of
from tests.rooms.catalogue.catalogue_cards import publish

SAMPLE = by_tier(12, 200, 2_000)
OWNER = 1


@dataclass(frozen=True)
class Scene:
    """One card of an own agent, and the acts on it."""

    card: catalogue.StoredCard
    seen: Card
    registry: TestRegistry

    def editor(self, *, blind: bool = True) -> Editor:
        def precondition(card: Card) -> None:
            if not blind and card.updated_at != self.seen.updated_at:
                raise PreconditionFailed

        return Editor(OWNER, str(self.card.id), precondition, SignaturePolicy.of(self.registry.settings))

    def put(self, name: str, *, blind: bool = True, is_active: bool | None = None) -> UseCase:
        edit = CardEdit(card_of(name), is_active)
        return lambda tx: edit_card(tx, self.editor(blind=blind), edit, ownership_in(self.registry.runtime))

    def delete(self) -> UseCase:
        return lambda tx: delete_card(tx, self.editor(), ownership_in(self.registry.runtime))

    def unlist(self) -> UseCase:
        return lambda tx: list_or_unlist(
            tx, self.editor(), ownership_in(self.registry.runtime), unlisted=True
        )

    def pull(self, name: str) -> UseCase:
        return lambda tx: catalogue.replace_document(tx, self.card.card_id, card_of(name), source="pull")

    def suspend(self) -> UseCase:
        return lambda tx: catalogue.suspend_card(tx, str(self.card.did))

    def retire(self) -> UseCase:
        return lambda tx: catalogue.retire_card(tx, str(self.card.did))


Right = Callable[[list[Any], dict[str, Any]], bool]
# What the sides do; then whether these outcomes with this row are right.
MET: dict[str, tuple[Callable[[Scene], list[UseCase]], Right]] = {
    "of two writers who read the same state one is refused": (
        lambda s: [s.put("A", blind=False), s.put("B", blind=False)],
        lambda outcomes, row: (
            sum(isinstance(one, PreconditionFailed) for one in outcomes) == 1 and row["version"] == 2
        ),
    ),
    "two blind writers come one after the other and both versions are kept": (
        lambda s: [s.put("A"), s.put("B")],
        lambda outcomes, row: (row["version"], row["kept"]) == (3, 2) and row["name"] in {"A", "B"},
    ),
    "a suspension is not undone by an owner who writes and switches on": (
        lambda s: [s.put("A", is_active=True), s.suspend()],
        lambda outcomes, row: (row["status"], row["is_active"], row["name"]) == ("suspended", True, "A"),
    ),
    "a write and a deletion both hold": (
        lambda s: [s.put("A"), s.delete()],
        lambda outcomes, row: (row["name"], row["is_active"], row["status"]) == ("A", False, "active"),
    ),
    "an unlisting and a pull both hold": (
        lambda s: [s.unlist(), s.pull("Served")],
        lambda outcomes, row: (row["unlisted"], row["name"], row["version"]) == (True, "Served", 2),
    ),
    "an owner's write and a pull come one after the other": (
        lambda s: [s.put("A"), s.pull("Served")],
        lambda outcomes, row: row["name"] in {"A", "Served"} and (row["version"], row["kept"]) == (3, 2),
    ),
    "a revoked card is written before it is revoked or not at all": (
        lambda s: [s.put("A", is_active=True), s.retire()],
        lambda outcomes, row: (
            (row["status"], row["is_active"]) == ("revoked", False)
            and (row["name"] == "A") != isinstance(outcomes[0], catalogue.CardRevoked)
        ),
    ),
}


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[TestRegistry, Director]]:
    async with (
        open_copy(database_farm, tmp_path_factory.mktemp("stage")) as registry,
        directing(registry.database.dsn, 2) as director,
    ):
        await registry.developer()
        yield registry, director


@pytest.mark.parametrize("name", MET)
async def test_however_writers_of_a_card_meet_each_word_counts_or_is_refused(
    name: str, stage: tuple[TestRegistry, Director]
):
    registry, director = stage
    sides, is_right = MET[name]

    async def play(choose: Choose) -> None:
        card = await publish(registry, "Before", developer=OWNER)
        seen = await registry.database.query(lambda tx: catalogue.card_of(tx, str(card.id)))
        outcomes = await director.play(sides(Scene(card, seen, registry)), choose)
        statement = (
            "SELECT name, status, is_active, unlisted, version, (SELECT count(*) FROM catalogue_card_version"
            " WHERE card_id = c.id) AS kept FROM catalogue_card c WHERE id = $1"
        )
        row = dict(await registry.database.query(lambda tx: tx.fetchrow(statement, card.card_id)))
        assert is_right(outcomes, row), (outcomes, row)

    await in_some_orders(play, count=SAMPLE, seed=printed_seed())
