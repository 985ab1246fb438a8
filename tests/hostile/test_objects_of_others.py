"""Objects of other owners: a stranger of the right kind is refused as the table of rights says, and nothing changes.

The operations come from the routes. A new parameter of a path has to be named here: as the name of an object that has an owner,
or of something that has none.
"""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from hansa.doors.reference_map import empty_app, entrances
from tests.hostile.credentials import let_it_stake
from tests.hostile.strangers import Asked, Stranger
from tests.hostile.well_formed import EVERYTHING_ON, Stage, WellFormed, set_stage, well_formed
from tests.house.rights import Rights, read_rights
from tests.registry import DatabaseFarm, TestRegistry, open_registry

OF_AGENTS_AND_THEIR_OWNERS = {
    "did", "agent_did", "card_id", "approval_id", "capability_id", "contract_id", "dispute_id", "token_id", "address",
    "transfer_id", "saga_id", "bid_id", "pipeline_id", "run_id", "order_id", "position_id", "version_id", "deployment_id", "bundle_id",
}  # fmt: skip
OF_DEVELOPERS = {
    "connection_id", "key_id", "session_id", "webhook_id", "delivery_id", "organization_id", "team", "invitation_id",
    "request_id", "budget_id", "ticket_id", "device_id",
}  # fmt: skip
OF_THE_REGISTRY = {
    "licence_id", "developer_id", "invite_id", "job_id", "lid", "peer_id", "settlement_id", "authorization_id", "code", "name",
    "currency", "jti", "incident_id",
}  # fmt: skip
OWNED = OF_AGENTS_AND_THEIR_OWNERS | OF_DEVELOPERS | OF_THE_REGISTRY
NOT_OWNED = {
    "act",
    "kind",
    "version",
    "event_type",
    "work_order_id",
    "proposal_id",
    "ref",
    "attestation",
    "circuit_id",
    "template_id",
    "step_id",
}
OF_THE_API = "/docs/operations/"

LISTS_OF_PARTIES = {"GET /api/v1/contracts/agent/{agent_did}", "GET /api/v1/disputes/agent/{agent_did}"}
"""Carried out for any agent; it lists that to which both are parties."""
AS_FOR_ANYONE = {
    "GET /api/v1/agent-cards/{card_id}/versions",
    "GET /api/v1/agent-cards/{card_id}/versions/{version}",
    "GET /api/v1/agents/{did}/versions",
}
"""Public, and more for the owner."""
FOR_OTHERS = {
    "GET /api/v1/events/aggregate/{did}",
    "POST /api/v1/auth/phone/sessions/{session_id}/approve",
    "POST /api/v1/auth/phone/sessions/{session_id}/deny",
}
"""No developer and no agent may enter: registries, and phones by their cookie."""
ABSENT_ALREADY = {
    "POST /account/sessions/{session_id:uuid}/end",
    "POST /account/api-keys/{key_id:int}/revoke",
    "POST /account/api-keys/{key_id:int}/restore",
    "POST /account/connections/{connection_id:uuid}/end",
    "POST /account/webhooks/{webhook_id}/delete",
    "POST /account/webhooks/{webhook_id}/restore",
}
"""A form that ends something, or undoes that, leads back to the list, whether or not it was there."""
NOT_THE_CALLER = {"POST /account/agents/{did}/wallet/tokens/{token_id:uuid}/release"}
"""403, as the specification says of a payment token of another caller."""
SHOWN_ELSEWHERE = {
    "GET /api/v1/teg/transfers/{transfer_id}": "neighbours/test_crossings.py::test_a_stranger_does_not_see_a_transfer",
    "GET /api/v1/bridge/status/{saga_id}": "conversations/test_bridge.py::test_a_stranger_reads_no_saga_and_retries_none",
}
"""Objects that only two registries make together: here there is none, and it is absent for everybody."""

FORM = "a form of"
BROWSER = "a person who is logged in in a browser"


@pytest.fixture(scope="module")
async def registry(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[TestRegistry]:
    directory = tmp_path_factory.mktemp("owners")
    async with open_registry(await database_farm.fresh(), directory, **EVERYTHING_ON) as opened:
        yield opened


@pytest.fixture(scope="module")
async def stage(registry: TestRegistry) -> Stage:
    staged = await set_stage(registry)
    await let_it_stake(staged, staged.agent)
    return staged


@pytest.fixture(scope="module")
async def stranger(registry: TestRegistry, stage: Stage) -> Stranger:
    return await Stranger.of(stage)


@dataclass(frozen=True)
class Operation:
    """One that names an object by its path. `callers` as its signature declares them."""

    rights: Rights
    callers: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.rights.operation

    @property
    def objects(self) -> list[str]:
        """The names of the owned objects in the path, in their order."""
        return [name for name in parameters_of(self.name) if name in OWNED]

    @property
    def is_page(self) -> bool:
        return BROWSER in " ".join(self.callers) or FORM in " ".join(self.callers)

    def expected(self) -> dict[str, str]:
        """Return the status that the table of rights expects, by kind of stranger."""
        if self.is_page:
            is_ended = self.name in ABSENT_ALREADY
            refused = "403" if self.name.split()[1].startswith("/administration") else "404"
            return {"browser": "303" if is_ended else refused}
        found = {kind: self.rights.expected[f"other_{kind}"] for kind in ("developer", "agent")}
        return {kind: status for kind, status in found.items() if status != "401"}


def parameters_of(operation: str) -> list[str]:
    return re.findall(r"\{(\w+)", operation)


@pytest.fixture(scope="module")
def operations(tmp_path_factory: pytest.TempPathFactory) -> list[Operation]:
    """Every operation with an object in its path that is not open to anyone."""
    app = empty_app(tmp_path_factory.mktemp("routes"))
    callers = {f"{one.method} {one.path}": one.callers for one in entrances(app)}
    found = [Operation(row, callers[row.operation]) for row in read_rights()]
    return [
        one
        for one in found
        if parameters_of(one.name) and one.callers != ("anyone",) and OF_THE_API not in one.name
    ]


def test_every_parameter_of_a_path_is_known_to_name_an_object_or_none(operations: list[Operation]):
    named = {name for one in operations for name in parameters_of(one.name)}
    assert named == OWNED | NOT_OWNED


def test_every_operation_that_names_an_object_refuses_a_stranger_or_says_why_not(operations: list[Operation]):
    exceptions = LISTS_OF_PARTIES | AS_FOR_ANYONE | FOR_OTHERS
    refusing = {one.name for one in operations if one.objects and one.name not in exceptions}
    assert exceptions <= {one.name for one in operations}
    for one in operations:
        if one.name in refusing:
            assert one.expected(), one.name
            assert one.name in ABSENT_ALREADY or set(one.expected().values()) <= {"403", "404"}, one.name


def test_what_is_shown_elsewhere_is_shown_there(operations: list[Operation]):
    assert SHOWN_ELSEWHERE.keys() <= {one.name for one in operations}
    for place in SHOWN_ELSEWHERE.values():
        path, _, name = place.partition("::")
        assert f"async def {name}(" in (Path(__file__).parents[1] / path).read_text()


async def test_a_stranger_is_refused_and_changes_nothing(
    stage: Stage, stranger: Stranger, operations: list[Operation]
):
    found = []
    for one in operations:
        if not one.objects or one.name in LISTS_OF_PARTIES | AS_FOR_ANYONE | FOR_OTHERS:
            continue
        request = await well_formed(one.name, stage)
        for kind, status in one.expected().items():
            found += await deviations(one, await stranger.asks(kind, request), status)
    assert not found, "\n".join(found)


async def test_an_object_of_another_owner_is_not_found_in_an_own_one(
    stage: Stage, stranger: Stranger, operations: list[Operation]
):
    """The path names an own agent or webhook, and in it the approval, contract, delivery … of another owner."""
    found, seen = [], set()
    for one in operations:
        outer = one.objects[0] if len(one.objects) > 1 else None
        if outer not in stranger.places():
            continue
        seen.add(one.objects[1])
        request = await well_formed(one.name, stage)
        await nothing_staged_is_public(stage)
        mine = with_own(one.name, request, outer, stranger.places()[outer])
        for kind in one.expected():
            status = "403" if one.name in NOT_THE_CALLER else "404"
            found += await deviations(one, await stranger.asks(kind, mine), status)
    assert not found, "\n".join(found)
    assert seen == {
        "approval_id",
        "capability_id",
        "contract_id",
        "dispute_id",
        "token_id",
        "saga_id",
        "delivery_id",
        "pipeline_id",
        "version_id",
        "deployment_id",
    }


async def test_lists_of_an_agent_hold_for_another_agent_only_what_both_are_party_to(
    stage: Stage, stranger: Stranger
):
    for operation in sorted(LISTS_OF_PARTIES):
        one = operation.replace(
            "/agent/{agent_did}", "/{contract_id}" if "contracts" in operation else "/{dispute_id}"
        )
        await well_formed(one, stage)
        await nothing_staged_is_public(stage)
        request = await well_formed(operation, stage)
        own = await request.send(stage.registry, stage.agent.headers)
        assert own.json()["items"], operation
        answer = await request.send(stage.registry, stranger.agent.headers)
        assert (answer.status_code, answer.json()["items"]) == (200, []), operation


async def nothing_staged_is_public(stage: Stage) -> None:
    """The terms of contracts that attest something are public; those on the stage are ordinary ones."""
    ordinary = "UPDATE commerce_contract SET contract_type = 'service' WHERE contract_type = 'attestation'"
    await stage.registry.database.transaction(lambda tx: tx.execute(ordinary))


async def test_a_stranger_reads_no_more_of_what_is_public_than_anyone(stage: Stage, stranger: Stranger):
    for operation in sorted(AS_FOR_ANYONE):
        request = await well_formed(operation, stage)
        read = [
            (await request.send(stage.registry, headers)).json()
            for headers in ({}, stranger.developer.headers, stranger.agent.headers)
        ]
        assert read[0] == read[1] == read[2], operation


async def deviations(one: Operation, got: Asked, status: str) -> list[str]:
    """Return the faults of one answer."""
    found = []
    if str(got.answer.status_code) != status:
        found.append(
            f"{one.name} by a strange {got.kind}: {got.answer.status_code} instead of {status}: {got.answer.text[:150]}"
        )
    if got.changed:
        found.append(f"{one.name} by a strange {got.kind} changed {sorted(got.changed)}")
    return found


def with_own(operation: str, request: WellFormed, name: str, own: str) -> WellFormed:
    """The request with another object in the place of this name."""
    template = operation.split(" ")[1].split("/")
    place = next(index for index, part in enumerate(template) if part.startswith(f"{{{name}"))
    parts = request.path.split("/")
    parts[place] = own
    return replace(request, path="/".join(parts))
