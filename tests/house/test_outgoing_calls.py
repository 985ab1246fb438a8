"""Each call to another host says who named its address, and its file is decided here."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import hansa
from hansa.foundation.plumbing.outgoing import NamedBy

SOURCES = Path(hansa.__file__).parent
CLIENT = SOURCES / "foundation/plumbing/outgoing"
VERBS = {"get", "post", "send"}

NAMED = {
    "rooms/auditor/witnessing/asking.py": NamedBy.OPERATOR,  # LOG_WITNESSES
    "rooms/catalogue/mcp_servers/calling.py": NamedBy.USER,  # MCP servers of cards
    "rooms/catalogue/mcp_servers/importing.py": NamedBy.USER,  # the server.json of an import
    "rooms/catalogue/moving/checking.py": NamedBy.USER,  # the address that an agent moves to
    "rooms/catalogue/pulls/probing.py": NamedBy.USER,  # the interfaces of a card
    "rooms/catalogue/pulls/proving.py": NamedBy.USER,  # the domain of an MCP server's namespace
    "rooms/catalogue/pulls/pulling.py": NamedBy.USER,  # the host of an agent
    "rooms/commerce/payments/calling.py": NamedBy.USER,  # the service of a payee
    "rooms/federation/crossing/licence_round.py": NamedBy.OPERATOR,  # issuers of verified licences
    "rooms/federation/invitations/accepting.py": NamedBy.OPERATOR,  # the registry of an invitation
    "rooms/federation/peers/meeting.py": NamedBy.OPERATOR,  # peers, and registries that are to become peers
    "rooms/people/oauth/documents.py": NamedBy.USER,  # metadata documents of clients
    "rooms/notifications/webhooks/sending.py": NamedBy.USER,  # webhooks
}

# Rooms whose addresses registries name; every other room reads the list of users.
ROOMS_OF_REGISTRIES = {"federation", "auditor"}


def calls_in(source: str) -> Iterator[ast.Call]:
    """Calls of the client of other hosts: its verbs on anything named `outgoing`, and every call with `named_by`."""
    if "outgoing" not in source and "named_by" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VERBS:
            owner = ast.unparse(node.func.value)
            if owner.rpartition(".")[2] in {"outgoing", "_outgoing"} or _origin(node):
                yield node


def _origin(call: ast.Call) -> str | None:
    return next((ast.unparse(word.value) for word in call.keywords if word.arg == "named_by"), None)


def test_every_call_to_another_host_says_who_named_its_address():
    found = defaultdict(set)
    for path in SOURCES.rglob("*.py"):
        if not path.is_relative_to(CLIENT):
            for call in calls_in(path.read_text()):
                found[str(path.relative_to(SOURCES))].add(_origin(call))
    assert dict(found) == {file: {str(origin)} for file, origin in NAMED.items()}


def test_a_room_judges_an_address_by_the_list_of_those_who_name_it():
    wrong = []
    for path in (SOURCES / "rooms").rglob("*.py"):
        room = path.relative_to(SOURCES / "rooms").parts[0]
        other = "outgoing_allow_user_hosts" if room in ROOMS_OF_REGISTRIES else "outgoing_allow_hosts"
        if other in path.read_text():
            wrong.append(f"{path.relative_to(SOURCES)}: {other}")
    pages = [
        path
        for path in (SOURCES / "doors/console").rglob("*.py")
        if "outgoing_allow_hosts" in path.read_text()
    ]
    assert (wrong, pages) == ([], [])


def test_a_call_that_does_not_say_it_is_seen():
    [silent] = calls_in("async def call(runtime, url):\n    await runtime.outgoing.get(url)\n")
    assert _origin(silent) is None
