"""Objects of other owners in bodies and headers: they are authorized as objects in the path are.

Each member that names something, of each operation, is in one of the tables here; a new one has to be put into one of them.
"""

import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hansa.doors.reference_map import empty_app, entrances
from tests.built_agents import asked
from tests.hostile.credentials import let_it_stake
from tests.hostile.strangers import Stranger
from tests.hostile.well_formed import EVERYTHING_ON, MCP_SERVER, Stage, WellFormed, set_stage, well_formed
from tests.registry import DatabaseFarm, TestAgent, TestRegistry, card_of, open_registry
from tests.wallets import TestWallet

NAMING = re.compile(
    r"(^|[._-])(id|ids|did|dids|tokens?|key|keys|challenge|address|quote|approval|capability)$", re.IGNORECASE
)
"""Members whose name says that they name something."""

PAYEES = {
    "target_agent_did", "receiver_did", "recipient_did", "receiver_agent_id", "transfers.receiver_did", "provider_did", "defendant_did",
    "contract.provider_did",
    "holder_agent_did", "counterparty_did",
}  # fmt: skip
"""Another agent, whoever owns it."""
OWN_SECRETS = {
    "partial_token", "refresh_token", "recovery_key", "client_id", "Idempotency-Key", "transfers.key", "use_id", "task_id",
    "tokens.task_id", "pageToken", "request_id", "act_id",
}  # fmt: skip
"""What the caller holds or chooses itself, in a scope of its own."""
PUBLIC = {"attestation_ids", "circuit_id"}
PUBLIC_RECORDS = {
    ("GET /log/proof", "id"),
    ("GET /api/auditor/attestations", "before_id"),
    ("POST /api/v1/support/reports", "agent_did"),
}
BY_POSSESSION = {
    ("POST /api/v1/a2a-payment/verify", "token"),
    ("GET /api/v1/auth/verify-email", "token"),
    ("POST /oauth/revoke", "token"),
}
"""Whoever holds it may use it."""
ENTERED_BY_OTHERS = ("admin_", "a peer registry", "a service")
"""Callers who are no developer or agent, or who hold an area and may name what is anybody's."""

A_NOTE = {
    ("POST /api/v1/a2a-payment/authorize", "contract_id"),
    ("POST /api/v1/attestations/submit", "context.contract_id"),
    ("POST /api/v1/attestations/submit", "context.token_id"),
}
"""Kept with the own token, where a contract is approved by a token of its contractor alone; a subject of the own proof, which says nothing of its parties."""
SHOWN_ELSEWHERE = {
    ("GET /api/v1/a2a-payment/my-tokens", "token_id"): "conversations/test_payment_settlement.py::test_one_of_my_tokens_is_listed_by_its_id_to_its_caller_and_its_payee_alone",
    ("POST /api/v1/bridge/mint-wrapped", "saga_id"): "conversations/test_bridge.py::test_a_stranger_reads_no_saga_and_retries_none",
    ("POST /api/v1/bridge/unlock", "saga_id"): "conversations/test_bridge.py::test_a_stranger_reads_no_saga_and_retries_none",
    ("POST /api/v1/agents/{did}/deployments", "version_id"): "conversations/test_deployments.py::test_a_version_of_another_agent_is_not_deployed",
    ("POST /api/v1/teg/send", "quote_id"): "neighbours/test_swaps.py::test_a_quote_is_of_its_agent_amount_and_minute",
    ("POST /api/v1/pipeline-templates/{template_id}/instantiate", "agent_did"): "conversations/test_pipeline_templates.py::test_a_template_is_used_for_an_own_agent_alone",
    ("POST /api/v1/organizations/invitations/accept", "token"): "conversations/test_organization_members.py::test_a_forwarded_token_is_refused_and_stays_pending",
    ("POST /api/v1/organizations/invitations/decline", "token"): "conversations/test_organization_members.py::test_a_forwarded_token_is_refused_and_stays_pending",
    ("POST /api/v1/organizations/{organization_id}/agents", "did"): "conversations/test_organization_agents.py::test_only_an_own_agent_moves_in_by_an_admin",
    ("POST /api/v1/onboard/bootstrap/request-token", "organization_id"): "conversations/test_agents_born_in_organizations.py::test_a_token_for_an_organization_is_an_admin_s_alone",
    ("POST /api/v1/organizations/{organization_id}/invitations", "team_ids"): "conversations/test_organization_members.py::test_an_invitation_names_teams_of_its_organization_alone",
    ("POST /api/v1/organizations/{organization_id}/treasury/budgets", "agent_did"): "conversations/test_treasury_budgets.py::test_an_agent_has_one_budget_of_its_own_organization_alone",
    ("POST /api/v1/organizations/{organization_id}/treasury/budgets", "team_id"): "hostile/test_treasury_rules_evaded.py::test_a_team_or_an_agent_of_another_organization_gets_no_budget",
    ("PATCH /api/v1/organizations/{organization_id}/treasury/budgets/{budget_id}", "agent_did"): "hostile/test_treasury_rules_evaded.py::test_a_team_or_an_agent_of_another_organization_gets_no_budget",
    ("PATCH /api/v1/organizations/{organization_id}/treasury/budgets/{budget_id}", "team_id"): "hostile/test_treasury_rules_evaded.py::test_a_team_or_an_agent_of_another_organization_gets_no_budget",
    ("POST /api/v1/organizations/{organization_id}/treasury/requests", "budget_id"): "hostile/test_treasury_rules_evaded.py::test_the_budget_of_another_organization_pays_nothing",
    ("POST /api/v1/organizations/{organization_id}/treasury/requests", "contract.approval_id"): "conversations/test_treasury_payments.py::test_a_request_that_is_none_is_refused",
    ("POST /api/v1/organizations/{organization_id}/contracts/{contract_id}/approve-completion", "approval_id"): "conversations/test_work_orders_contracts.py::test_a_funded_contract_is_paid_from_its_hold_alone",
    ("POST /api/v1/organizations/{organization_id}/contracts/{contract_id}/approve-completion", "payment_token"): "conversations/test_work_orders_contracts.py::test_a_funded_contract_is_paid_from_its_hold_alone",
    ("POST /api/v1/organizations/{organization_id}/contracts/{contract_id}/dispute", "contract_id"): "conversations/test_work_orders_contracts.py::test_an_admin_files_a_dispute_and_adds_evidence",
    ("POST /api/v1/organizations/{organization_id}/contracts/{contract_id}/dispute", "token_id"): "conversations/test_work_orders_contracts.py::test_an_admin_files_a_dispute_and_adds_evidence",
    ("POST /api/v1/organizations/{organization_id}/contracts/{contract_id}/dispute", "transaction_id"): "conversations/test_work_orders_contracts.py::test_an_admin_files_a_dispute_and_adds_evidence",
    ("POST /api/v1/agora/listings", "organization_id"): "conversations/test_exchange_listings.py::test_only_an_admin_of_a_public_organization_drafts",
    ("POST /api/v1/agora/listings/{ref}/launch/buy", "X-Capability-Token"): "conversations/test_launches.py::test_a_capability_that_another_agent_holds_buys_nothing",
    ("POST /api/v1/agora/listings/{ref}/launch/buy", "approval_id"): "conversations/test_launches.py::test_a_policy_judges_a_subscription_and_gets_back_what_is_not_spent",
    ("POST /api/v1/agora/orders", "X-Capability-Token"): "conversations/test_orders.py::test_a_capability_bounds_the_buys_of_its_holder_alone",
    ("POST /api/v1/agora/orders", "approval_id"): "conversations/test_orders.py::test_a_buy_over_the_limit_waits_for_the_owner",
    ("POST /api/v1/organizations/{organization_id}/work-orders/{work_order_id}/award", "bid_id"): "conversations/test_work_orders_attacked.py::test_a_bid_of_another_order_or_organization_is_not_awarded",
    ("POST /api/v1/support/tickets", "agent_did"): "conversations/test_support_tickets.py::test_the_agent_and_the_related_thing_are_the_authors_own",
    ("POST /api/v1/support/tickets", "related.id"): "conversations/test_support_tickets.py::test_the_agent_and_the_related_thing_are_the_authors_own",
    ("POST /api/v1/teg/cross-registry-transfer", "quote_id"): "neighbours/test_swaps.py::test_a_quote_is_of_its_agent_amount_and_minute",
}  # fmt: skip


@dataclass(frozen=True)
class Belongings:
    """Objects of the agent on the stage, or issued to it alone; `contract_id` is that of a contract of the stranger."""

    approval_id: str
    capability_id: str
    capability: str
    quote: str
    token: str
    token_id: str
    contract_id: int
    transaction_id: str
    position_id: str
    challenge: dict[str, str]
    strangers_contract_id: int


AMOUNT = "0.0001"
SOON, LATER = ((datetime.now(UTC) + timedelta(days=days)).isoformat() for days in (1, 2))


@dataclass(frozen=True)
class Scene:
    """The stage with its stranger, whose owner approves each of its payments."""

    stage: Stage
    stranger: Stranger
    owned: Belongings

    @property
    def payee(self) -> str:
        return self.stage.payee.did


Case = Callable[[Scene], tuple[dict[str, Any], dict[str, str]]]


def body(**members: Callable[[Scene], Any] | Any) -> Case:
    """A body of these members; a function takes its value from the scene."""
    return lambda scene: ({name: one(scene) if callable(one) else one for name, one in members.items()}, {})


def with_header(name: str, value: Callable[[Scene], str], case: Case) -> Case:
    return lambda scene: (case(scene)[0], {name: value(scene)})


def payee(scene: Scene) -> str:
    return scene.payee


def approval(scene: Scene) -> str:
    return scene.owned.approval_id


def capability(scene: Scene) -> str:
    return scene.owned.capability


APPROVAL_UNKNOWN, NOT_HELD = (404, "SPEND_APPROVAL_UNKNOWN"), (403, "CAPABILITY_UNKNOWN")
PAY = "POST /api/v1/a2a-payment"
AUTHORIZE = body(target_agent_did=payee, amount=AMOUNT)
TRANSFER = body(receiver_agent_id=payee, amount=AMOUNT)
FLARE, BOUGHT = "POST /api/v1/achievements/flares/purchase", body(variant="anchor", price="2")
SEND = body(receiver_did=payee, amount=AMOUNT)
COMPLAINT: dict[str, Any] = {
    "defendant_did": payee,
    "reason_code": "OTHER",
    "description": "Nothing was delivered.",
}

CASES: dict[tuple[str, str], tuple[Case, tuple[int, str]]] = {
    (f"{PAY}/authorize", "approval_id"): (body(target_agent_did=payee, amount=AMOUNT, approval_id=approval), APPROVAL_UNKNOWN),
    (f"{PAY}/authorize", "quote_token"): (
        body(target_agent_did=payee, amount=AMOUNT, quote_token=lambda scene: scene.owned.quote), (403, "QUOTE_OF_ANOTHER")),
    (f"{PAY}/authorize", "X-Capability-Token"): (with_header("X-Capability-Token", capability, AUTHORIZE), NOT_HELD),
    (f"{PAY}/buy", "approval_id"): (body(target_agent_did=payee, message="x", max_amount="1", approval_id=approval), APPROVAL_UNKNOWN),
    (f"{PAY}/buy", "X-Capability-Token"): (
        with_header("X-Capability-Token", capability, body(target_agent_did=payee, message="x", max_amount="1")), NOT_HELD),
    (f"{PAY}/settle", "token"): (body(token=lambda scene: scene.owned.token), (403, "PAYMENT_TOKEN_OF_ANOTHER")),
    (f"{PAY}/release", "token"): (body(token=lambda scene: scene.owned.token), (403, "PAYMENT_TOKEN_OF_ANOTHER")),
    (f"{PAY}/settle-many", "tokens"): (body(tokens=lambda scene: [{"token": scene.owned.token}]), (200, "PAYMENT_TOKEN_OF_ANOTHER")),
    (f"{PAY}/settle-many", "tokens.token"): (
        body(tokens=lambda scene: [{"token": scene.owned.token, "success": False}]), (200, "PAYMENT_TOKEN_OF_ANOTHER")),
    ("POST /api/v1/teg/transfer", "approval_id"): (
        body(receiver_agent_id=payee, amount=AMOUNT, approval_id=approval), APPROVAL_UNKNOWN),
    ("POST /api/v1/teg/transfer", "X-Spend-Approval"): (with_header("X-Spend-Approval", approval, TRANSFER), APPROVAL_UNKNOWN),
    ("POST /api/v1/teg/transfer", "X-Capability-Token"): (with_header("X-Capability-Token", capability, TRANSFER), NOT_HELD),
    ("POST /api/v1/teg/transfers", "X-Capability-Token"): (
        with_header("X-Capability-Token", capability, lambda scene: ({"transfers": [{**SEND(scene)[0], "key": "1"}], "atomic": True}, {})), NOT_HELD),
    (FLARE, "approval_id"): (body(variant="anchor", price="2", approval_id=approval), APPROVAL_UNKNOWN),
    (FLARE, "X-Spend-Approval"): (with_header("X-Spend-Approval", approval, BOUGHT), APPROVAL_UNKNOWN),
    (FLARE, "X-Capability-Token"): (with_header("X-Capability-Token", capability, BOUGHT), NOT_HELD),
    ("POST /api/v1/agents/{did}/spawn", "approval_id"): (body(name="Helper", funding=AMOUNT, approval_id=approval), APPROVAL_UNKNOWN),
    ("POST /api/v1/agents/{did}/spawn", "X-Spend-Approval"): (
        with_header("X-Spend-Approval", approval, body(name="Helper", funding=AMOUNT)), APPROVAL_UNKNOWN),
    ("POST /api/v1/teg/send", "approval_id"): (body(receiver_did=payee, amount=AMOUNT, approval_id=approval), APPROVAL_UNKNOWN),
    ("POST /api/v1/teg/send", "X-Spend-Approval"): (with_header("X-Spend-Approval", approval, SEND), APPROVAL_UNKNOWN),
    ("POST /api/v1/teg/send", "X-Capability-Token"): (with_header("X-Capability-Token", capability, SEND), NOT_HELD),
    ("POST /api/v1/contracts", "approval_id"): (
        body(provider_did=payee, title="x", contract_type="service", amount=AMOUNT, terms="x", acceptance_criteria="x", funded=True,
             submit_by=SOON, review_by=LATER, approval_id=approval), APPROVAL_UNKNOWN),
    ("POST /api/v1/contracts/{contract_id}/approve-completion", "approval_id"): (body(approval_id=approval), APPROVAL_UNKNOWN),
    ("POST /api/v1/contracts/{contract_id}/approve-completion", "payment_token"): (
        body(payment_token=lambda scene: scene.owned.token), (409, "PAYMENT_TOKEN_MISMATCH")),
    ("POST /api/v1/contracts/malpractice", "contract_id"): (
        body(contract_id=lambda scene: scene.owned.contract_id, evidence="x", claimed_damages="1"), (404, "CONTRACT_UNKNOWN")),
    ("POST /api/v1/disputes/", "contract_id"): (
        body(**COMPLAINT, contract_id=lambda scene: scene.owned.contract_id), (404, "CONTRACT_UNKNOWN")),
    ("POST /api/v1/disputes/", "token_id"): (
        body(**COMPLAINT, token_id=lambda scene: scene.owned.token_id), (404, "PAYMENT_UNKNOWN")),
    ("POST /api/v1/disputes/", "transaction_id"): (
        body(**COMPLAINT, transaction_id=lambda scene: scene.owned.transaction_id), (404, "PAYMENT_UNKNOWN")),
    ("POST /api/v1/staking/unstake", "position_id"): (
        body(amount="1", position_id=lambda scene: scene.owned.position_id), (404, "POSITION_UNKNOWN")),
    ("POST /api/v1/agents/me/wallets", "challenge"): (lambda scene: (scene.owned.challenge, {}), (403, "WALLET_CHALLENGE_REFUSED")),
    ("POST /api/v1/agents/me/wallets", "address"): (lambda scene: (scene.owned.challenge, {}), (403, "WALLET_CHALLENGE_REFUSED")),
    ("POST /api/v1/agent-cards/", "agent_did"): (
        lambda scene: ({"card_data": card_of("Grabbed"), "agent_did": scene.stage.agent.did}, {}), (403, "NOT_THE_OWNER")),
    ("POST /api/v1/agent-builder/generate", "agent_did"): (
        body(**asked("mcp_server"), agent_did=lambda scene: scene.stage.agent.did), (404, "RESOURCE_NOT_FOUND")),
    ("POST /api/v1/agent-cards/import-mcp", "agent_did"): (
        lambda scene: ({"server_json": MCP_SERVER, "agent_did": scene.stage.agent.did}, {}), (403, "NOT_THE_OWNER")),
    ("POST /api/v1/agents/capabilities/{capability_id:uuid}/attenuate", "X-Capability-Token"): (
        with_header("X-Capability-Token", capability, body(budget_total="1")), (404, "CAPABILITY_UNKNOWN")),
    ("POST /api/v1/agents/capabilities/{capability_id:uuid}/consume", "X-Capability-Token"): (
        with_header("X-Capability-Token", capability, body(amount="1")), (404, "CAPABILITY_UNKNOWN")),
}  # fmt: skip
CHOSEN_BY_THE_CALLER = {
    ("POST /api/v1/agent-builder/generate", "human_readable_id"),
    ("POST /api/v1/agents/{did}/pipelines", "steps.id"),
    ("POST /api/v1/agents/{did}/pipelines", "steps.approval"),
    ("PUT /api/v1/agents/{did}/pipelines/{pipeline_id}", "steps.id"),
    ("PUT /api/v1/agents/{did}/pipelines/{pipeline_id}", "steps.approval"),
    ("POST /api/v1/agents/me/wallets/challenge", "address"),
    ("POST /api/v1/agora/orders", "client_order_id"),
    ("GET /api/v1/agents/{did}/logs", "trace_id"),
    ("POST /api/v1/agents/{did}/logs", "trace_id"),
    ("POST /api/v1/agents/{did}/logs", "entries.trace_id"),
}
"""The address of any wallet: only its key signs the challenge. A handle is judged when a card is published. A trace is named by the agent, in its own log, a step in its own pipeline."""
WITHOUT_A_PEER = {
    ("POST /api/v1/bridge/transfer", "approval_id"),
    ("POST /api/v1/bridge/transfer", "X-Spend-Approval"),
    ("POST /api/v1/bridge/transfer", "X-Capability-Token"),
    ("POST /api/v1/bridge/redeem", "approval_id"),
    ("POST /api/v1/bridge/redeem", "X-Spend-Approval"),
    ("POST /api/v1/teg/cross-registry-transfer", "approval_id"),
    ("POST /api/v1/teg/cross-registry-transfer", "X-Spend-Approval"),
    ("POST /api/v1/teg/cross-registry-transfer", "X-Capability-Token"),
}
"""Judged by the same function as a transfer, once there is a receiver elsewhere."""


@pytest.fixture(scope="module")
async def scene(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Scene]:
    directory = tmp_path_factory.mktemp("members")
    async with open_registry(await database_farm.fresh(), directory, **EVERYTHING_ON) as registry:
        stage = await set_stage(registry)
        await let_it_stake(stage, stage.agent)
        stranger = await Stranger.of(stage)
        policy = {"roles": ["trader", "client"], "spend_policy": {"approval_over": "0"}}
        put = await registry.http.put(
            f"/api/v1/agents/{stranger.agent.did}/authz", json=policy, headers=stranger.developer.headers
        )
        assert put.status_code == 200, put.text
        yield Scene(stage, stranger, await belongings(stage, stranger))


async def belongings(stage: Stage, stranger: Stranger) -> Belongings:
    """Everything that a stranger could name, made by its owner."""
    registry, own = stage.registry, stage.agent
    contract = await well_formed("POST /api/v1/contracts/{contract_id}/request-changes", stage)
    contract_id = int(contract.path.split("/")[4])
    other = await well_formed("POST /api/v1/contracts/{contract_id}/approve-completion", stage)
    strangers_contract_id = int(other.path.split("/")[4])
    await run(
        registry,
        "UPDATE commerce_contract SET contractor_did = $2 WHERE id = $1",
        strangers_contract_id,
        stranger.agent.did,
    )
    approval_id = str(uuid4())
    await run(
        registry,
        "INSERT INTO agents_spend_approval (id, agent_id, payee, amount, status, decided_at, expires_at)"
        " SELECT $1, id, $3, 10000, 'approved', now(), now() + interval '1 day' FROM agents_agent WHERE did = $2",
        approval_id,
        own.did,
        stage.payee.did,
    )
    lent = {"caveats": {"permissions": ["teg.transfer", "payment.pay"]}, "holder_agent_did": stage.spare.did}
    capability = await made(own, "/agents/capabilities", lent)
    firm = {"target_agent_did": stage.payee.did, "firm": "true", "amount": AMOUNT}
    quote = await registry.get("/a2a-payment/quote", params=firm, headers=own.headers)
    assert quote.status_code == 200, quote.text
    settled = await well_formed("GET /pay/{token_id:uuid}", stage)
    token = await well_formed("POST /api/v1/a2a-payment/settle", stage)
    paid = await own.transfer(stage.payee, AMOUNT)
    (position, *_) = (await registry.get("/staking/my-positions", headers=own.headers)).json()["items"]
    challenge = await TestWallet().signed_challenge(own)
    return Belongings(
        approval_id=approval_id,
        capability_id=capability["id"],
        capability=capability["token"],
        quote=quote.json()["quote_token"],
        token=token.json["token"],
        token_id=settled.path.rpartition("/")[2],
        contract_id=contract_id,
        transaction_id=paid.json()["transaction_id"],
        position_id=position["position_id"],
        challenge=challenge,
        strangers_contract_id=strangers_contract_id,
    )


async def made(agent: TestAgent, path: str, sent: dict[str, Any]) -> dict[str, Any]:
    answer = await agent.registry.post(path, json=sent, headers=agent.headers)
    assert answer.is_success, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def run(registry: TestRegistry, statement: str, *values: Any) -> None:
    await registry.database.transaction(lambda tx: tx.execute(statement, *values))


async def test_a_stranger_who_names_what_belongs_to_another_is_refused_and_changes_nothing(scene: Scene):
    found = []
    for (operation, member), (case, expected) in CASES.items():
        method, path = operation.split(" ")
        path = path.replace("{contract_id}", str(scene.owned.strangers_contract_id))
        path = path.replace("{capability_id:uuid}", scene.owned.capability_id)
        path = path.replace("{did}", scene.stranger.agent.did)
        sent, headers = case(scene)
        kind = "developer" if path.startswith(("/api/v1/agent-cards", "/api/v1/agent-builder")) else "agent"
        got = await scene.stranger.asks(kind, WellFormed(method, path, json=sent, headers=headers))
        answered = (got.answer.status_code, code_of(got.answer.json()))
        if answered != expected or got.changed:
            found.append(
                f"{operation} naming {member}: {answered} instead of {expected}, changed {got.changed}: {got.answer.text[:200]}"
            )
    assert not found, "\n".join(found)


def code_of(answer: dict[str, Any]) -> str | None:
    """Return the code of an error, or of the refused line of many."""
    error = answer.get("error") or next(
        (one["error"] for one in answer.get("items", []) if one.get("error")), {}
    )
    found: str | None = error.get("code")
    return found


def test_every_member_that_names_something_is_judged_here_or_says_why_not(tmp_path: Path):
    named = {
        (operation, member)
        for operation, callers, members in operations_with_members(tmp_path)
        if not any(entered in caller for entered in ENTERED_BY_OTHERS for caller in callers)
        for member in members
        if NAMING.search(member) and member not in PAYEES | OWN_SECRETS | PUBLIC
    }
    assert (
        named
        == CASES.keys()
        | A_NOTE
        | SHOWN_ELSEWHERE.keys()
        | CHOSEN_BY_THE_CALLER
        | WITHOUT_A_PEER
        | BY_POSSESSION
        | PUBLIC_RECORDS
    )


def test_what_is_shown_elsewhere_is_shown_there():
    for place in SHOWN_ELSEWHERE.values():
        path, _, name = place.partition("::")
        assert f"async def {name}(" in (Path(__file__).parents[1] / path).read_text()


def operations_with_members(directory: Path) -> list[tuple[str, tuple[str, ...], set[str]]]:
    """Each operation of the API: its callers, and the names of its headers, queries and members, with those within them."""
    app = empty_app(directory)
    document, found = app.openapi(), []
    for one in entrances(app):
        path = re.sub(r":\w+}", "}", one.path)
        described = document["paths"].get(path, {}).get(one.method.lower(), {})
        names = {each["name"] for each in described.get("parameters", []) if each["in"] != "path"}
        for content in described.get("requestBody", {}).get("content", {}).values():
            names |= members_of(content["schema"], document)
        found.append((f"{one.method} {one.path}", one.callers, names))
    return found


def members_of(schema: dict[str, Any], document: dict[str, Any], depth: int = 3) -> set[str]:
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    names: set[str] = set()
    if not depth:
        return names
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        names |= members_of(choice, document, depth)
    for name, member in schema.get("properties", {}).items():
        names |= {name, *(f"{name}.{inner}" for inner in members_of(member, document, depth - 1))}
    if isinstance(schema.get("items"), dict):
        names |= members_of(schema["items"], document, depth)
    return names
