"""The documents name only things that the code has, and everything that an operator or a client needs is named in them."""

import re
from pathlib import Path

import pytest

from tests.house import documented
from tests.house.documented import GUIDES, MAP, PROSE

ROOT = Path(__file__).parents[2]
CHANGELOG = ROOT / "CHANGELOG.md"
TERSE = (
    CHANGELOG,
    *(ROOT / "docs" / "decisions").glob("0*.md"),
    *(ROOT / "bench").rglob("*.md"),
    *(ROOT / "migrations").rglob("*.sql"),
)
FINDING_YOUR_WAY = ROOT / "docs" / "finding-your-way.md"

# Addresses of the machine, of other programs and of pages in the documents.
NO_ROUTES_OF_OURS = ("/etc/", "/srv/", "/opt/", "/data", "/tmp/", "/dev/", "/static", "/usr/", "/proc/")
# A sentence of these documents begins with a noun, a verb or its article.
_FIRST_WORD = re.compile(
    r"(?:^|[.:] |\*\* |^ *--? )(What|Who|Whoever|Which|Whether|Where|As|Of)\b", re.MULTILINE
)


@pytest.fixture(params=PROSE, ids=lambda document: document.name)
def document(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_every_variable_and_code_named_is_one_of_the_code(document: Path):
    known = documented.settings() | documented.words_of_the_code()
    assert sorted(documented.variables_named(document) - known) == []


def test_every_metric_named_is_exported(document: Path):
    exported = documented.metric_names() | documented.metric_names_of_agents()
    assert sorted(documented.metrics_named(document) - exported) == []


def test_every_route_named_is_served(document: Path):
    named = {
        (m, path) for m, path in documented.routes_named(document) if not path.startswith(NO_ROUTES_OF_OURS)
    }
    assert sorted(one for one in named if not documented.is_route(*one)) == []


def test_every_command_named_exists(document: Path):
    assert (
        sorted(words for words in documented.commands_named(document) if not documented.is_command(words))
        == []
    )
    assert sorted(documented.targets_named(document) - documented.make_targets()) == []


def test_every_setting_has_a_row_in_the_guide_to_settings():
    rows = [line for line in (GUIDES / "settings.md").read_text().splitlines() if line.startswith("|")]
    named = {word.strip() for row in rows for word in row.split("|")[1].split(",")}
    assert sorted(documented.settings() - named) == []


def test_every_metric_has_a_row_in_the_guide_to_observing():
    rows = [
        line for line in (GUIDES / "observing.md").read_text().splitlines() if line.startswith("| `hansa_")
    ]
    assert sorted(documented.metric_names() - {row.split("`")[1] for row in rows}) == []


def test_every_command_and_target_is_named():
    texts = "\n".join(document.read_text() for document in (*PROSE, MAP))
    assert sorted(one for one in documented.commands() if f"hansa {one}" not in texts) == []
    assert sorted(one for one in documented.make_targets() if f"make {one}" not in texts) == []


def test_every_group_of_routes_is_named_in_a_guide():
    named = {path for document in PROSE for _, path in documented.routes_named(document)}
    groups = {path.removeprefix("/api/v1").strip("/").split("/")[0].split("?")[0] for path in named}
    assert sorted(documented.groups() - groups) == []


def test_every_route_is_in_the_map():
    rows = MAP.read_text()
    assert [
        path
        for method, path in sorted(documented.routes())
        if method and f"| {method} | `{path}` |" not in rows
    ] == []


def test_every_place_of_finding_your_way_exists():
    places = re.findall(r"`([\w/]+\.\w+)` \|", FINDING_YOUR_WAY.read_text())
    assert len(places) >= 24
    assert [place for place in places if not (ROOT / "src" / "hansa" / place).exists()] == []


@pytest.mark.parametrize(
    ("title", "most"),
    [
        ("A transfer", 8),
        ("An edit of a card", 5),
        ("A message of another registry", 8),
        ("A payment that is settled at another registry", 15),
    ],
)
def test_a_request_passes_few_files_and_each_of_them_exists(title: str, most: int):
    section = FINDING_YOUR_WAY.read_text().partition(f"### {title}\n")[2].partition("\n### ")[0]
    files = re.findall(r"^\d+\. `([\w/]+\.\w+)`: ", section, re.MULTILINE)
    assert 1 < len(files) <= most
    assert [file for file in files if not (ROOT / "src" / "hansa" / file).exists()] == []


def test_each_version_of_the_changelog_is_one_page():
    versions = re.split(r"^## ", CHANGELOG.read_text(), flags=re.MULTILINE)[1:]
    assert versions
    assert [text.splitlines()[0] for text in versions if len(text.splitlines()) > 80] == []


def test_sentences_of_records_notes_changelog_and_the_baseline_begin_with_a_noun_or_a_verb():
    assert len(TERSE) > 60
    assert [
        f"{path.relative_to(ROOT)}: {word}"
        for path in TERSE
        for word in _FIRST_WORD.findall(re.sub(r"^\|.*$", "", path.read_text(), flags=re.MULTILINE))
    ] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What is lost stays lost.", ["What"]),
        ("A peer answers. Where it does not, **wait.** As before.", ["Where", "As"]),
        ("- Of two promises one counts: Which is open.", ["Of", "Which"]),
        ("CREATE TABLE a (\n  -- Whether it counts.\n  b int\n);", ["Whether"]),
        ("A peer of which nothing is known. Assets, Offers; Wholes.", []),
    ],
)
def test_the_first_words_of_sentences_are_found(text: str, words: list[str]):
    assert _FIRST_WORD.findall(text) == words
