"""A narrow API key leads neither to money nor to a credential, except where this file says so.

The handler of each route is followed through the code: the tables that it writes and the secrets that it makes decide.
"""

from pathlib import Path
from typing import Annotated

import pytest
from fastapi import FastAPI
from pydantic import BaseModel

from hansa.doors.reference_map import Entrance, empty_app, entrances
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.web.caller import Developer, developer_holding
from hansa.rooms.agents.secret import rotate_secret
from tests.house.reach import reach_of

# Scopes whose holder is meant to reach the money of agents: of own ones, or of those of an organization.
TO_MONEY = {"agents:secrets", "orgs:write"}

# Rows of these tables carry no right and no unit: publications of owners, logs, figures, deliveries to them, records of the plumbing.
HARMLESS = {
    "achievements_hidden",
    "catalogue_card",
    "catalogue_card_version",
    "catalogue_importer",
    "notifications_webhook",
    "notifications_webhook_delivery",
    "operations_bundle",
    "operations_deployment",
    "operations_log",
    "operations_log_entry",
    "operations_metric",
    "operations_release",
    "plumbing_admin_act",
    "plumbing_admin_author",
    "plumbing_job",
    "plumbing_letter",
    "plumbing_log_outbox",
    "plumbing_rate_limit",
    "support_message",
    "support_move",
    "support_ticket",
}

_OF_PIPELINES = "pays nothing: the agent starts the runs, within its roles and its spend policy"

# Decided for a narrow scope, with the reason.
DECIDED = {
    "DELETE /api/v1/agents/{did}": "ends an agent whose account is empty; gives nobody a right",
    "PUT /api/v1/agents/{did}/authz": "takes rights away; a replacement that widens needs agents:secrets",
    "POST /api/v1/agents/{did}/spend-approvals/{approval_id:uuid}/deny": "denies a payment",
    "POST /api/v1/agents/{did}/pipelines": _OF_PIPELINES,
    "PUT /api/v1/agents/{did}/pipelines/{pipeline_id}": _OF_PIPELINES,
    "DELETE /api/v1/agents/{did}/pipelines/{pipeline_id}": _OF_PIPELINES,
    "POST /api/v1/pipeline-templates/{template_id}/instantiate": _OF_PIPELINES,
    "POST /api/v1/agents/{did}/pipelines/{pipeline_id}/runs/{run_id}/cancel": "ends a run",
    "POST /api/v1/agents/{did}/pipelines/{pipeline_id}/runs/{run_id}/steps/{step_id}/deny": "denies a payment",
    "POST /api/v1/agents/{did}/spawn/end": "ends a child; its units go back to its parent",
    "POST /api/v1/agents/import": "creates a new agent, the subject of agents:create",
    "POST /api/v1/auth/api-keys": "makes a key that is no broader",
    "DELETE /api/v1/auth/api-keys/{key_id}": "ends a credential",
    "DELETE /api/v1/auth/sessions/{session_id}": "ends a credential",
    "DELETE /api/v1/auth/connections/{connection_id}": "ends a connected client",
    "PATCH /api/v1/auth/connections/{connection_id}": "lowers limits; higher ones need a login session and the password",
    "POST /api/v1/developers/webhooks": "the secret signs deliveries to this webhook and opens no route",
    "POST /api/v1/developers/webhooks/{webhook_id}/rotate-secret": "the same secret, replaced",
    "POST /api/v1/developers/webhooks/{webhook_id}/test": "names an event of a test",
    "POST /api/v1/onboard/bootstrap/request-token": "creates a new agent, the subject of agents:create",
}

# What the scope of an area may lead to is what the area is about.
AREAS = {
    "admin_enforcement": {
        "agents_",
        "commerce_",
        "enforcement_",
        "exchange_listing",
        "federation_",
        "ledger_",
        "organizations_",
    },
    "admin_federation": {"federation_"},
    "admin_platform": {
        "auditor_key",
        "catalogue_showcase",
        "exchange_",
        "federation_",
        "proofs_circuit",
        "governance_",
        "journal_",
        "plumbing_parameter",
        "status_",
    },
    "admin_support": {"support_", "organizations_", "people_invite"},
    "admin_treasury": {"auditor_", "commerce_dispute", "federation_peer", "ledger_account", "transfers_"},
}
AREAS_THAT_MAKE_SECRETS = {
    "POST /api/v1/admin/federation/licence-keys",
    "POST /api/v1/admin/invite-codes/generate",
}


class Answer(BaseModel):
    ok: bool


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> list[Entrance]:
    return entrances(empty_app(tmp_path_factory.mktemp("house")))


def marks(entrance: Entrance, mark: str) -> set[str]:
    """The values of this mark among the callers of a route."""
    dependencies = entrance.context.dependant.dependencies
    return {found for one in dependencies if (found := getattr(one.call, mark, None))}


def narrow_scopes(entrance: Entrance) -> set[str]:
    """The scopes of API keys with which a developer may enter."""
    return marks(entrance, "scope") | marks(entrance, "scope_or_agent")


def led_to(entrance: Entrance) -> list[str]:
    """The rights and units that the handler reaches."""
    reach = reach_of(entrance.context.endpoint)
    return sorted(reach.tables - HARMLESS) + ["a new secret"] * reach.makes_secret


def undecided(found: list[Entrance]) -> dict[str, list[str]]:
    """Routes of narrow scopes that lead to money or to a credential and are not decided."""
    return {
        operation: ends
        for entrance in found
        if narrow_scopes(entrance) - TO_MONEY
        and (operation := f"{entrance.method} {entrance.path}") not in DECIDED
        and (ends := led_to(entrance))
    }


def test_no_narrow_scope_leads_to_money_or_to_a_credential_undecided(house: list[Entrance]):
    assert undecided(house) == {}


def test_every_decision_is_about_a_route_that_needs_one(house: list[Entrance]):
    judged = {
        f"{entrance.method} {entrance.path}"
        for entrance in house
        if narrow_scopes(entrance) - TO_MONEY and led_to(entrance)
    }
    assert set(DECIDED) - judged == set()


def test_the_scope_of_an_area_leads_to_what_the_area_is_about(house: list[Entrance]):
    beyond = {}
    for entrance in house:
        operation = f"{entrance.method} {entrance.path}"
        for area in marks(entrance, "area"):
            ends = [end for end in led_to(entrance) if not end.startswith(tuple(AREAS[area]))]
            if operation in AREAS_THAT_MAKE_SECRETS:
                ends.remove("a new secret")
            if ends:
                beyond[operation] = ends
    assert beyond == {}


def test_a_new_route_that_leads_to_a_credential_with_a_narrow_scope_is_seen():
    app = FastAPI()

    @app.post("/agents/{did}/another-secret")
    async def another_secret(
        did: str, developer: Annotated[Developer, developer_holding("agents:write")], db: Db
    ) -> Answer:
        await db.transaction(lambda tx: rotate_secret(tx, developer, did, "secret"))
        return Answer(ok=True)

    assert undecided(entrances(app)) == {"POST /agents/{did}/another-secret": ["agents_agent"]}


def test_a_route_that_issues_a_token_is_seen_although_it_writes_nothing(house: list[Entrance]):
    [act_token] = [one for one in house if Path(one.path).name == "act-token"]
    assert led_to(act_token) == ["a new secret"]
