"""The table of the console's security names tests that exist, and each row names one."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs/console-security.md").read_text()
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_every_test_of_the_table_exists():
    named = NAMED.findall(TABLE)
    assert len(named) > 20
    missing = [
        f"{file}::{name}"
        for file, name in named
        if not re.search(rf"^(?:async )?def {name}\(", (ROOT / file).read_text(), re.MULTILINE)
    ]
    assert missing == []


def test_every_requirement_has_a_test():
    rows = [line for line in TABLE.splitlines() if re.match(r"\| \d", line)]
    assert [row for row in rows if not NAMED.search(row)] == []
