"""The owner of an agent or of a card is compared with a developer in few places; every other place asks them."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "hansa"

# The judgement of a right itself: in memory, in the database, and for cards.
JUDGED = {
    "foundation/values/rights.py": 1,
    "rooms/agents/sql/rights.sql": 4,
    "rooms/agents/collective/moving.py": 1,  # an agent that moves is its owner's
    "rooms/catalogue/card_rights.py": 1,
}
# The person alone: the account, its credentials, memberships, webhooks, administration.
OF_PERSONS = (
    "rooms/people/",
    "rooms/organizations/",
    "doors/console/organizations/",
    "rooms/notifications/webhooks/",
    "foundation/plumbing/",
)
# Rows of a person beside agents, with the number of comparisons.
BESIDE_AGENTS = {
    "rooms/agents/collective/store.py": 1,  # the owner of an agent that moves
    "rooms/agents/grants_store.py": 3,  # the claim to a genesis grant
    "rooms/agents/spending/policy.py": 1,  # the grant of a connected client
    "rooms/agents/store.py": 2,  # bootstrap tokens
    "rooms/catalogue/owning/store.py": 4,  # listing cards and imports of servers
    "rooms/catalogue/reserved_names.py": 1,  # cards of others with a name to be reserved
    "rooms/catalogue/store.py": 3,  # listing cards, and the owner of a card that moves
    "rooms/enforcement/developers.py": 1,  # an administrator's own account
    "rooms/enforcement/store.py": 2,  # suspensions of developers
    "rooms/agents/onboard.py": 1,  # a parent that was moved to another owner meanwhile
    "rooms/reputation/views/store.py": 1,  # the share of payments within one owner
    "rooms/operations/bundles/store.py": 4,  # stored bundles of a person, or of an organization
}

IN_SQL = re.compile(
    r"\bdeveloper_id\s*(?:=|<>|!=|IS\b|IN\b|NOT IN\b)|(?:=|<>|!=|DISTINCT FROM)\s*\(?(?:\w+\.)?developer_id\b"
)


def _compares_developer(node: ast.AST) -> bool:
    if not isinstance(node, ast.Compare) or isinstance(node.ops[0], ast.Is | ast.IsNot):
        return False
    sides = [node.left, *node.comparators]
    operands = [one for side in sides for one in (side.elts if isinstance(side, ast.Tuple) else [side])]
    return any("developer_id" in {getattr(one, "id", None), getattr(one, "attr", None)} for one in operands)


def comparisons(file: Path) -> int:
    """Return how often a file compares a developer's id, in an expression or in a statement."""
    text = file.read_text()
    if "developer_id" not in text:
        return 0
    if file.suffix != ".py":
        return len(IN_SQL.findall(text))
    nodes = list(ast.walk(ast.parse(text)))
    compared = sum(_compares_developer(node) for node in nodes)
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return compared + sum(len(IN_SQL.findall(one)) for one in texts)


def found(source: Path) -> Iterator[tuple[str, int]]:
    for file in sorted([*source.rglob("*.py"), *source.rglob("*.sql")]):
        if count := comparisons(file):
            yield file.relative_to(source).as_posix(), count


def test_rights_at_agents_and_cards_are_judged_in_their_places_alone():
    others = {name: count for name, count in found(SOURCE) if not name.startswith(OF_PERSONS)}
    assert Counter(others) == Counter(JUDGED | BESIDE_AGENTS), (
        "ask agents.held_with, agents_right or CardReader; a comparison about the person alone gets its line here"
    )


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("a.py", "if agent.developer_id != developer.id:\n    raise NotTheOwner\n", 1),
        ("a.py", "if (a.did, a.developer_id) == asked or owner == developer_id:\n    pass\n", 2),
        ("a.py", 'SQL = "SELECT did FROM agents_agent WHERE developer_id = $1"\n', 1),
        ("a.py", 'SQL = f"SELECT did FROM {table} WHERE developer_id = {asked}"\n', 1),
        ("a.sql", "SELECT FROM a JOIN b ON b.developer_id <> a.developer_id;", 1),
        ("a.sql", "SELECT FROM a WHERE 7 = a.developer_id OR developer_id IN (8);", 2),
        ("a.py", "note(developer_id=developer.id)\n", 0),
    ],
)
def test_a_comparison_is_found(name: str, text: str, count: int, tmp_path: Path):
    (tmp_path / name).write_text(text)
    assert sum(number for _, number in found(tmp_path)) == count
