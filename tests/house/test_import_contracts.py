"""Each import contract of pyproject.toml is broken by the violation it is there for, and by no innocent package."""

import itertools
import sys
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest
from importlinter.application import use_cases
from importlinter.configuration import configure

ROOT = Path(__file__).parents[2]
CONTRACT_IDS = [
    contract["id"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
]

ROOMS = (
    "status",
    "auditor",
    "notifications",
    "achievements",
    "reputation",
    "pipelines",
    "support",
    "treasury",
    "exchange",
    "governance",
    "spawn",
    "commerce",
    "enforcement",
    "proofs",
    "transfers",
    "agents",
    "operations",
    "organizations",
    "people",
    "catalogue",
    "federation",
    "ledger",
    "journal",
)
INNOCENT = {
    "doors/__init__.py": "",
    "doors/assembly.py": "from hansa.rooms import ledger",
    "foundation/__init__.py": "",
    "foundation/values/__init__.py": "",
    "foundation/values/money.py": "",
    "foundation/events/__init__.py": "from hansa.foundation.values import money",
    "foundation/plumbing/__init__.py": "",
    "foundation/plumbing/storage/__init__.py": "",
    "foundation/plumbing/storage/database.py": "import asyncpg",
    "foundation/plumbing/outgoing/__init__.py": "",
    "foundation/plumbing/outgoing/mail.py": "import aiosmtplib",
    "rooms/__init__.py": "",
    "../hansa_verify/__init__.py": "",
    "../hansa_verify/card.py": "import cryptography",
    "doors/commands/__init__.py": "",
    "doors/commands/program.py": "from hansa_client.commands import verbs",
    "doors/commands/presentation.py": "from hansa_client.commands import options, usage",
    "../hansa_client/commands/__init__.py": "",
    "../hansa_client/commands/verbs.py": "",
    "../hansa_client/commands/options.py": "",
    "../hansa_client/commands/usage.py": "",
    "../hansa_client/__init__.py": "from .transport import Transport",
    "../hansa_client/transport.py": "from hansa_verify import card",
    **{
        f"rooms/{room}/{file}": content
        for room in ROOMS
        for file, content in {
            "__init__.py": "from .routes import router",
            "routes.py": "from . import posting",
            "posting.py": "from . import store, rules",
            "store.py": "from hansa.foundation.plumbing.storage import database",
            "rules.py": "from hansa.foundation.values import money",
            "schemas.py": "from . import posting",
        }.items()
    },
}
VIOLATIONS = [
    ("storeys", {"foundation/values/money.py": "from hansa.rooms import ledger"}),
    ("storeys", {"rooms/ledger/posting.py": "from hansa.doors import assembly"}),
    ("storeys", {"attic/__init__.py": ""}),
    ("rooms", {"rooms/ledger/posting.py": "from hansa.rooms import transfers"}),
    ("rooms", {"rooms/enforcement/suspend.py": "from hansa.rooms import transfers"}),
    ("rooms", {"rooms/people/posting.py": "from hansa.rooms import agents"}),
    ("rooms", {"rooms/federation/posting.py": "from hansa.rooms import catalogue"}),
    ("rooms", {"rooms/cellar/__init__.py": ""}),
    ("foundation", {"foundation/values/money.py": "from hansa.foundation import events"}),
    (
        "plumbing",
        {"foundation/plumbing/storage/database.py": "from hansa.foundation.plumbing.outgoing import mail"},
    ),
    ("foundation", {"foundation/events/__init__.py": "from hansa.foundation.plumbing import mail"}),
    ("foundation", {"foundation/shed/__init__.py": ""}),
    ("door", {"rooms/transfers/posting.py": "from hansa.rooms.ledger.store import post"}),
    ("door", {"doors/assembly.py": "from hansa.rooms.ledger import posting"}),
    ("rules", {"rooms/ledger/rules.py": "from . import store"}),
    ("rules", {"rooms/ledger/rules.py": "from . import posting"}),
    ("rules", {"rooms/ledger/rules.py": "import asyncpg"}),
    ("rules", {"rooms/ledger/rules.py": "import socket"}),
    ("schemas", {"rooms/ledger/schemas.py": "from . import store"}),
    ("schemas", {"rooms/ledger/schemas.py": "from hansa.foundation.plumbing.storage.database import Tx"}),
    ("schemas", {"rooms/ledger/schemas.py": "import httpx2"}),
    ("routes", {"rooms/ledger/routes.py": "from . import store"}),
    (
        "routes",
        {"rooms/ledger/holds/__init__.py": "", "rooms/ledger/holds/routes.py": "from .. import store"},
    ),
    ("verifier", {"../hansa_verify/card.py": "from hansa.foundation.values import money"}),
    ("verifier", {"../hansa_verify/card.py": "import httpx2"}),
    ("client", {"../hansa_client/transport.py": "from hansa.foundation.values import money"}),
    ("client", {"../hansa_client/transport.py": "import pydantic"}),
    ("no_client", {"doors/assembly.py": "from hansa_client import transport"}),
    (
        "cycles",
        {
            "../hansa_client/calls.py": "from . import transport",
            "../hansa_client/transport.py": "from . import calls",
        },
    ),
    ("cycles", {"rooms/ledger/rules.py": "from . import schemas"}),
]

_numbers = itertools.count(1)


def broken_contracts(
    directory: Path, changes: Mapping[str, str], asked: Collection[str] = CONTRACT_IDS
) -> list[str]:
    """Return the contracts among `asked` that a registry with these files breaks."""
    name = f"planted_{next(_numbers)}"
    for file, content in {**INNOCENT, **changes, "__init__.py": ""}.items():
        path = directory / name / file.replace("hansa", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content.replace("hansa", name))
    config = directory / f"{name}.toml"
    own_tables = (ROOT / "pyproject.toml").read_text().split("[tool.importlinter]")[1].split("\n[tool.v")[0]
    config.write_text(
        "[tool.importlinter]" + own_tables.replace('"hansa', f'"{name}').replace("-> hansa", f"-> {name}")
    )
    configure()
    sys.path.insert(0, str(directory))
    try:
        return [
            contract
            for contract in asked
            if not use_cases.lint_imports(
                str(config), limit_to_contracts=(contract,), cache_dir=None, no_logo=True
            )
        ]
    finally:
        sys.path.remove(str(directory))


def test_a_package_that_respects_every_contract_breaks_none(tmp_path: Path):
    assert broken_contracts(tmp_path, {}) == []


@pytest.mark.parametrize(("contract", "changes"), VIOLATIONS)
def test_a_contract_is_broken_by_what_it_forbids(contract: str, changes: dict[str, str], tmp_path: Path):
    assert broken_contracts(tmp_path, changes, [contract]) == [contract]


def test_every_contract_has_a_violation_to_catch():
    assert set(CONTRACT_IDS) == {contract for contract, _ in VIOLATIONS}
