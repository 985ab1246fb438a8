"""Capabilities: acts that one agent permits another, within caveats that only narrow."""

from uuid import uuid4

import pytest

from hansa.foundation.plumbing.telemetry.metrics import shadow_refusals_total
from hansa.rooms.agents.capabilities import forget_capabilities
from tests.founded import open_copy
from tests.registry import at_once

NOBODY = "did:hansa:hansa.local:nobody"
MAY_TRANSFER = {"permissions": ["teg.transfer"]}


@pytest.fixture(scope="module")
async def registry(database_farm, tmp_path_factory):
    """One for all: every test speaks of agents of its own."""
    async with open_copy(database_farm, tmp_path_factory.mktemp("capabilities")) as opened:
        yield opened


@pytest.fixture
async def owner(registry):
    return await registry.developer()


@pytest.fixture
async def issuer(owner):
    return await owner.agent(name="Issuer")


@pytest.fixture
async def holder(owner, issuer):
    """An agent of the same owner with 50 units."""
    made = await owner.agent(name="Holder")
    assert (await issuer.transfer(made, "50")).status_code == 200
    return made


@pytest.fixture
async def payee(registry):
    return await registry.agent(name="Payee")


async def ask(agent, **members):
    return await agent.registry.post("/agents/capabilities", json=members, headers=agent.headers)


async def issue(agent, holder=None, caveats=None, **members):
    """A capability: its id and token."""
    held = {"holder_agent_did": holder.did} if holder else {}
    answer = await ask(agent, caveats=caveats or MAY_TRANSFER, **held, **members)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def draw(agent, parent, holder=None, *, shows=None, **members):
    headers = {**agent.headers, **({"X-Capability-Token": shows} if shows else {})}
    held = {"holder_agent_did": holder.did} if holder else {}
    path = f"/agents/capabilities/{parent['id']}/attenuate"
    return await agent.registry.post(path, json={**held, **members}, headers=headers)


async def drawn(agent, parent, holder=None, **members):
    answer = await draw(agent, parent, holder, **members)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def consume(agent, capability, *, shows=None, key=None, **members):
    headers = {**agent.headers, **({"X-Capability-Token": shows} if shows else {})}
    headers |= {"Idempotency-Key": key} if key else {}
    path = f"/agents/capabilities/{capability['id']}/consume"
    return await agent.registry.post(path, json=members, headers=headers)


async def revoke(agent, capability):
    path = f"/api/v1/agents/capabilities/{capability['id']}"
    return await agent.registry.http.delete(path, headers=agent.headers)


async def pay(agent, payee, amount, capability, *, route="/teg/transfer", key=None, **members):
    headers = {**agent.headers, "X-Capability-Token": capability["token"]}
    headers |= {"Idempotency-Key": key} if key else {}
    receiver = {"/teg/transfer": "receiver_agent_id", "/teg/send": "receiver_did"}[route]
    body = {receiver: payee.did, "amount": amount, **members}
    return await agent.registry.post(route, json=body, headers=headers)


async def mine(agent):
    return (await agent.registry.get("/agents/capabilities/mine", headers=agent.headers)).json()


async def seen(agent, capability):
    return next(token for token in (await mine(agent))["tokens"] if token["id"] == capability["id"])


async def run(registry, statement, *values):
    return await registry.database.transaction(lambda tx: tx.execute(statement, *values))


async def set_roles(agent, *roles):
    await run(agent.registry, "UPDATE agents_agent SET roles = $2 WHERE did = $1", agent.did, list(roles))


def code(answer):
    return answer.status_code, answer.json()["error"]["code"]


def caveat(answer):
    assert code(answer) == (403, "CAPABILITY_CAVEAT"), answer.text
    return answer.json()["error"]["context"]["caveat"]


async def test_an_agent_issues_a_capability_and_both_parties_see_it(issuer, holder):
    made = await issue(
        issuer,
        holder,
        {"permissions": ["teg.transfer", "payment.pay"], "max_per_tx": "10", "operations": ["teg.transfer"]},
        budget_total=25.5,
        max_uses=7,
    )
    assert made["token"].startswith("att_")
    assert (made["depth"], made["parent_token_id"], made["root_token_id"]) == (0, None, made["id"])
    shown = await mine(holder)
    assert (shown["agent_did"], shown["mode"]) == (holder.did, "enforce")
    (token,) = shown["tokens"]
    assert {name: token[name] for name in token if name not in {"created_at", "expires_at"}} == {
        "id": made["id"],
        "role": "holder",
        "issuer_did": issuer.did,
        "holder_did": holder.did,
        "root_token_id": made["id"],
        "parent_token_id": None,
        "depth": 0,
        "status": "active",
        "permissions": ["teg.transfer", "payment.pay"],
        "caveats": {
            "permissions": ["teg.transfer", "payment.pay"],
            "max_per_tx": "10",
            "allowed_currencies": None,
            "counterparty_allow": None,
            "operations": ["teg.transfer"],
            "no_redelegate": False,
        },
        "budget_total": "25.5",
        "budget_remaining": "25.5",
        "currency": "AVT",
        "max_uses": 7,
        "uses_remaining": 7,
        "revoked_at": None,
    }
    assert (await seen(issuer, made))["role"] == "issuer"
    assert made["token"] not in str(shown)


@pytest.mark.parametrize("budget", ["12.5", 12.5, 12, "0.00000001", 1e2])
async def test_a_budget_is_a_number_or_a_string(issuer, budget):
    made = await issue(issuer, budget_total=budget)
    shown = (await seen(issuer, made))["budget_total"]
    assert float(shown) == float(budget)
    assert "e" not in shown


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"caveats": {}},
        {"caveats": {"permissions": []}},
        {"caveats": {"permissions": ["admin"]}},
        {"caveats": {"permissions": ["teg.transfer"], "max_amount": "5"}},
        {"caveats": {"permissions": ["teg.transfer"], "max_per_tx": "0"}},
        {"caveats": {"permissions": ["teg.transfer"], "no_redelegate": "yes"}},
        {"caveats": {"permissions": ["teg.transfer"], "allowed_currencies": ["avt"]}},
        {"caveats": {"permissions": ["teg.transfer"], "operations": ["Pay!"]}},
        {"caveats": MAY_TRANSFER, "budget_total": 0},
        {"caveats": MAY_TRANSFER, "budget_total": "1e3"},
        {"caveats": MAY_TRANSFER, "budget_total": True},
        {"caveats": MAY_TRANSFER, "budget_total": 0.000000001},
        {"caveats": MAY_TRANSFER, "max_uses": 0},
        {"caveats": MAY_TRANSFER, "max_uses": 1.5},
        {"caveats": MAY_TRANSFER, "ttl_seconds": 59},
        {"caveats": MAY_TRANSFER, "ttl_seconds": 86401},
        {"caveats": MAY_TRANSFER, "currency": "A"},
    ],
)
async def test_a_capability_that_is_not_understood_is_not_issued(issuer, members):
    assert (await ask(issuer, **members)).status_code == 422
    assert (await mine(issuer))["tokens"] == []


async def test_a_capability_lives_fifteen_minutes_or_as_long_as_it_is_given(registry, issuer):
    made = [await issue(issuer, **given) for given in ({}, {"ttl_seconds": 60}, {"ttl_seconds": 86400})]
    lives = "SELECT extract(epoch FROM expires_at - created_at)::int FROM agents_capability WHERE id = $1"

    async def read(tx):
        return [await tx.fetchval(lives, one["id"]) for one in made]

    assert await registry.database.read(read) == [900, 60, 86400]


async def test_only_who_may_delegate_issues_and_only_what_it_holds(issuer, owner):
    refused = await ask(issuer, caveats={"permissions": ["teg.transfer", "staking.manage"]})
    assert code(refused) == (403, "CAPABILITY_NOT_HELD")
    assert refused.json()["error"]["context"] == {"permissions": ["staking.manage"]}
    await set_roles(issuer, "staker")
    assert code(await ask(issuer, caveats={"permissions": ["staking.manage"]})) == (403, "PERMISSION_MISSING")
    assert (await ask(await owner.agent(), caveats={"permissions": ["authz.delegate"]})).status_code == 200


async def test_a_holder_is_an_agent_of_this_registry(issuer):
    answer = await ask(issuer, caveats=MAY_TRANSFER, holder_agent_did=NOBODY)
    assert code(answer) == (404, "HOLDER_UNKNOWN")


async def test_a_capability_lends_the_permission_that_the_holders_roles_lack(issuer, holder, payee):
    await set_roles(holder)
    assert code(await holder.transfer(payee, "1")) == (403, "PERMISSION_MISSING")
    made = await issue(issuer, holder)
    for route in ("/teg/transfer", "/teg/send"):
        assert (await pay(holder, payee, "1", made, route=route)).status_code == 200
    assert code(await holder.transfer(payee, "1")) == (403, "PERMISSION_MISSING")
    other = await issue(issuer, holder, {"permissions": ["payment.pay"]})
    assert caveat(await pay(holder, payee, "1", other)) == "permissions"


async def test_the_holder_pays_with_its_own_money(issuer, holder, payee):
    made = await issue(issuer, holder)
    held = await issuer.balance()
    assert (await pay(holder, payee, "10", made)).status_code == 200
    assert (await issuer.balance(), await payee.balance()) == (held, "110")
    assert float(await holder.balance()) == 50 - 10 - 0.05
    assert (await pay(holder, payee, "60", made)).status_code == 402


async def test_another_owners_agent_lends_no_permission(registry, holder, payee):
    stranger = await registry.agent(name="Stranger")
    made = await issue(stranger, holder, budget_total="10")
    assert (await pay(holder, payee, "4", made)).status_code == 200
    assert code(await pay(holder, payee, "7", made)) == (403, "CAPABILITY_BUDGET")
    await set_roles(holder)
    assert code(await pay(holder, payee, "4", made)) == (403, "PERMISSION_MISSING")
    assert (await seen(stranger, made))["budget_remaining"] == "6"


async def test_a_capability_bounds_what_is_paid_under_it(registry, issuer, holder, payee):
    other = await registry.agent()
    caveats = {
        "permissions": ["teg.transfer"],
        "max_per_tx": 5,
        "counterparty_allow": [payee.did],
        "operations": ["teg.transfer"],
        "allowed_currencies": ["AVT"],
    }
    made = await issue(issuer, holder, caveats)
    assert caveat(await pay(holder, payee, "5.00000001", made)) == "max_per_tx"
    assert caveat(await pay(holder, other, "1", made)) == "counterparty_allow"
    assert caveat(await pay(holder, payee, "1", made, route="/teg/send")) == "operations"
    foreign = await issue(issuer, holder, {**MAY_TRANSFER, "allowed_currencies": ["EUR"]})
    assert caveat(await pay(holder, payee, "1", foreign)) == "allowed_currencies"
    in_euro = await issue(issuer, holder, currency="EUR", budget_total="10")
    assert caveat(await pay(holder, payee, "1", in_euro)) == "currency"
    nobody = await issue(issuer, holder, {**MAY_TRANSFER, "counterparty_allow": []})
    assert caveat(await pay(holder, payee, "1", nobody)) == "counterparty_allow"
    assert (await pay(holder, payee, "5", made)).status_code == 200
    assert (await holder.transfer(other, "6")).status_code == 200


async def test_a_budget_and_the_uses_end(issuer, holder, payee):
    made = await issue(issuer, holder, budget_total="10", max_uses=3)
    assert (await pay(holder, payee, "4", made)).status_code == 200
    over = await pay(holder, payee, "7", made)
    assert code(over) == (403, "CAPABILITY_BUDGET")
    assert over.json()["error"]["context"] == {"available": "6", "required": "7"}
    assert (await pay(holder, payee, "6", made)).status_code == 200
    shown = await seen(issuer, made)
    assert (shown["status"], shown["budget_remaining"], shown["uses_remaining"]) == ("exhausted", "0", 1)
    once = await issue(issuer, holder, max_uses=1)
    assert (await pay(holder, payee, "1", once)).status_code == 200
    ended = await pay(holder, payee, "1", once)
    assert code(ended) == (403, "CAPABILITY_ENDED")
    assert ended.json()["error"]["context"] == {"status": "exhausted"}


async def test_a_payment_that_the_ledger_refuses_spends_nothing_of_the_capability(issuer, holder, payee):
    made = await issue(issuer, holder, budget_total="100", max_uses=5)
    assert (await pay(holder, payee, "90", made)).status_code == 402
    shown = await seen(holder, made)
    assert (shown["budget_remaining"], shown["uses_remaining"]) == ("100", 5)


async def test_a_payment_repeated_under_its_key_is_one_use(issuer, holder, payee):
    made = await issue(issuer, holder, budget_total="10", max_uses=1)
    first = await pay(holder, payee, "4", made, key="k")
    again = await pay(holder, payee, "4", made, key="k")
    assert (first.status_code, again.text, again.headers["Idempotent-Replayed"]) == (200, first.text, "true")
    assert (await seen(holder, made))["budget_remaining"] == "6"


async def test_a_dry_run_is_judged_by_the_capability_and_spends_nothing(issuer, holder, payee):
    made = await issue(issuer, holder, budget_total="10")
    await set_roles(holder)
    planned = await pay(holder, payee, "10", made, route="/teg/send", dry_run=True)
    assert (planned.status_code, planned.json()["status"]) == (200, "dry_run")
    assert code(await pay(holder, payee, "11", made, route="/teg/send", dry_run=True)) == (
        403,
        "CAPABILITY_BUDGET",
    )
    assert (await seen(holder, made))["budget_remaining"] == "10"


async def test_a_capability_and_a_policy_both_bound_a_payment(owner, issuer, holder, payee):
    made = await issue(issuer, holder, budget_total="20")
    policy = {"spend_policy": {"per_day_max": "12", "approval_over": "5"}}
    path = f"/api/v1/agents/{holder.did}/authz"
    assert (await owner.registry.http.put(path, json=policy, headers=owner.headers)).status_code == 200
    assert (await pay(holder, payee, "5", made)).status_code == 200
    assert (await pay(holder, payee, "6", made)).status_code == 202
    assert code(await pay(holder, payee, "8", made)) == (403, "SPEND_OVER_PER_DAY_MAX")
    assert (await seen(holder, made))["budget_remaining"] == "15"


async def test_who_is_not_the_holder_cannot_use_a_token_it_found(registry, issuer, holder, payee):
    made = await issue(issuer, holder)
    for thief in (payee, issuer):
        answer = await pay(thief, holder, "1", made)
        assert code(answer) == (403, "CAPABILITY_UNKNOWN")
    unknown = await pay(payee, holder, "1", {"token": "att_" + "0" * 64})
    assert unknown.json()["detail"] == answer.json()["detail"]
    for strange in ("", "x", "att_", made["id"], "att_" + "é" * 9):
        headers = {**holder.headers, "X-Capability-Token": strange.encode("latin-1")}
        body = {"receiver_agent_id": payee.did, "amount": "1"}
        answer = await registry.post("/teg/transfer", json=body, headers=headers)
        assert code(answer) == (403, "CAPABILITY_UNKNOWN")
    headers = {**holder.headers, "X-Capability-Token": "a" * 129}
    assert (await registry.post("/teg/transfer", json=body, headers=headers)).status_code == 422


async def test_without_a_holder_it_is_good_for_whoever_shows_it(issuer, holder, payee):
    made = await issue(issuer, budget_total="3")
    assert made["holder_did"] is None
    for agent in (holder, issuer, payee):
        to = payee if agent is not payee else holder
        assert (await pay(agent, to, "1", made)).status_code == 200
    assert code(await pay(holder, payee, "1", made)) == (403, "CAPABILITY_BUDGET")


async def test_a_capability_ends_with_the_right_of_the_agent_it_comes_from(registry, issuer, holder, payee):
    made = await issue(issuer, holder)
    await set_roles(issuer, "service-provider")
    assert code(await pay(holder, payee, "1", made)) == (403, "CAPABILITY_DELEGATOR")
    await set_roles(issuer, "trader")
    assert (await pay(holder, payee, "1", made)).status_code == 200
    await run(registry, "UPDATE agents_agent SET status = 'suspended' WHERE did = $1", issuer.did)
    assert code(await pay(holder, payee, "1", made)) == (403, "CAPABILITY_DELEGATOR")


async def test_an_expired_capability_is_refused(registry, issuer, holder, payee):
    made = await issue(issuer, holder)
    child = await drawn(holder, made)
    await run(
        registry,
        "UPDATE agents_capability SET created_at = created_at - interval '1 hour', expires_at = now()"
        " WHERE root_id = $1",
        made["id"],
    )
    refused = await pay(holder, payee, "1", made)
    assert code(refused) == (403, "CAPABILITY_ENDED")
    assert refused.json()["error"]["context"] == {"status": "expired"}
    assert (await seen(holder, child))["status"] == "expired"
    assert code(await draw(holder, made)) == (403, "CAPABILITY_ENDED")
    assert code(await consume(holder, made)) == (403, "CAPABILITY_ENDED")


async def test_what_is_drawn_from_a_capability_takes_over_what_it_does_not_narrow(issuer, holder, payee):
    caveats = {
        "permissions": ["teg.transfer", "payment.pay"],
        "max_per_tx": "10",
        "counterparty_allow": [payee.did],
        "operations": ["teg.transfer", "teg.send"],
        "allowed_currencies": ["AVT", "EUR"],
    }
    root = await issue(issuer, holder, caveats, budget_total="20", max_uses=9)
    child = await drawn(holder, root, issuer, caveats={"max_per_tx": "3", "operations": ["teg.send"]})
    assert (child["depth"], child["parent_token_id"], child["root_token_id"]) == (1, root["id"], root["id"])
    assert child["expires_at"] <= root["expires_at"]
    shown = await seen(holder, child)
    assert shown["role"] == "issuer"
    assert shown["caveats"] == {
        **caveats,
        "max_per_tx": "3",
        "operations": ["teg.send"],
        "no_redelegate": False,
    }
    assert (shown["budget_total"], shown["max_uses"]) == ("20", 9)
    assert caveat(await pay(issuer, payee, "4", child, route="/teg/send")) == "max_per_tx"
    assert (await pay(issuer, payee, "3", child, route="/teg/send")).status_code == 200
    assert (await seen(holder, root))["budget_remaining"] == "17"


@pytest.mark.parametrize(
    ("wider", "members"),
    [
        ("permissions", {"caveats": {"permissions": ["teg.transfer", "exchange.trade"]}}),
        ("max_per_tx", {"caveats": {"max_per_tx": "10.00000001"}}),
        ("allowed_currencies", {"caveats": {"allowed_currencies": ["AVT", "EUR"]}}),
        ("counterparty_allow", {"caveats": {"counterparty_allow": [NOBODY]}}),
        ("operations", {"caveats": {"operations": ["teg.send"]}}),
        ("budget_total", {"budget_total": 21}),
        ("max_uses", {"max_uses": 10}),
        ("currency", {"currency": "EUR"}),
    ],
)
async def test_nothing_wider_is_drawn_from_a_capability(issuer, holder, payee, wider, members):
    caveats = {
        "permissions": ["teg.transfer"],
        "max_per_tx": "10",
        "counterparty_allow": [payee.did],
        "operations": ["teg.transfer"],
        "allowed_currencies": ["AVT"],
    }
    root = await issue(issuer, holder, caveats, budget_total="20", max_uses=9)
    refused = await draw(holder, root, **members)
    assert code(refused) == (403, "CAPABILITY_WIDENED")
    assert refused.json()["error"]["context"] == {"caveat": wider}
    assert len((await mine(holder))["tokens"]) == 1


async def test_a_chain_is_three_deep_at_most(issuer, holder):
    link = await issue(issuer, holder)
    for depth in (1, 2, 3):
        link = await drawn(holder, link, holder)
        assert link["depth"] == depth
    assert code(await draw(holder, link, holder)) == (403, "CAPABILITY_NOT_REDELEGABLE")


async def test_what_must_not_be_redelegated_is_not(issuer, holder):
    root = await issue(issuer, holder, {**MAY_TRANSFER, "no_redelegate": True})
    assert code(await draw(holder, root)) == (403, "CAPABILITY_NOT_REDELEGABLE")
    open_root = await issue(issuer, holder)
    last = await drawn(holder, open_root, holder, caveats={"no_redelegate": True})
    assert code(await draw(holder, last)) == (403, "CAPABILITY_NOT_REDELEGABLE")


async def test_only_who_may_use_a_capability_draws_from_it_or_consumes_it(registry, issuer, holder, payee):
    held, free = await issue(issuer, holder), await issue(issuer)
    for act in (draw, consume):
        assert code(await act(issuer, held)) == (403, "CAPABILITY_UNKNOWN")
        assert code(await act(issuer, held, shows=held["token"])) == (403, "CAPABILITY_UNKNOWN")
        assert (await act(issuer, free)).status_code == 200
        assert (await act(payee, free, shows=free["token"])).status_code == 200
        assert code(await act(payee, free, shows=held["token"])) == (404, "CAPABILITY_UNKNOWN")


async def test_capabilities_of_others_cannot_be_distinguished_from_those_that_do_not_exist(
    issuer, holder, payee
):
    held, free = await issue(issuer, holder), await issue(issuer)
    nowhere = {"id": str(uuid4())}

    def returned(answer):
        problem = answer.json()
        return answer.status_code, problem["detail"], problem["error"]["code"]

    for act in (draw, consume, revoke):
        unknown = returned(await act(payee, nowhere))
        assert unknown[::2] == (404, "CAPABILITY_UNKNOWN")
        assert {returned(await act(payee, held)), returned(await act(payee, free))} == {unknown}
    assert (await mine(payee))["tokens"] == []
    assert (await seen(issuer, held))["status"] == "active"


async def test_a_consumption_spends_and_moves_nothing(issuer, holder, payee):
    made = await issue(issuer, holder, budget_total="10", max_uses=5)
    held = await holder.balance()
    answer = await consume(holder, made, amount=2.5, permission="teg.transfer")
    assert answer.json() == {
        "ok": True,
        "id": made["id"],
        "status": "active",
        "budget_remaining": "7.5",
        "uses_remaining": 4,
        "currency": "AVT",
    }
    assert (await consume(holder, made)).json()["uses_remaining"] == 3
    assert code(await consume(holder, made, amount="8")) == (403, "CAPABILITY_BUDGET")
    assert caveat(await consume(holder, made, permission="payment.pay")) == "permissions"
    assert caveat(await consume(holder, made, amount="1", currency="EUR")) == "currency"
    assert (await consume(holder, made, amount="7.5")).json()["status"] == "exhausted"
    assert await holder.balance() == held


async def test_a_consumption_says_what_a_caveat_bounds(issuer, holder, payee):
    caveats = {**MAY_TRANSFER, "operations": ["bake"], "counterparty_allow": [payee.did]}
    made = await issue(issuer, holder, caveats)
    assert caveat(await consume(holder, made, counterparty_did=payee.did)) == "operations"
    assert caveat(await consume(holder, made, operation="bake")) == "counterparty_allow"
    assert (await consume(holder, made, operation="bake", counterparty_did=payee.did)).status_code == 200


async def test_a_consumption_repeated_under_its_key_counts_once(issuer, holder):
    made = await issue(issuer, holder, budget_total="10")
    answers = [await consume(holder, made, amount="4", key="k") for _ in range(3)]
    assert {answer.json()["budget_remaining"] for answer in answers} == {"6"}
    assert code(await consume(holder, made, amount="5", key="k")) == (422, "IDEMPOTENCY_KEY_REUSED")


async def test_two_payments_at_once_cannot_both_have_the_rest_of_a_budget(registry, issuer, holder, payee):
    root = await issue(issuer, holder, budget_total="10")
    children = [await drawn(holder, root, holder, budget_total="10") for _ in range(2)]
    answers = await at_once(
        *(pay(holder, payee, "3", one) for one in (root, *children) * 3),
        *(consume(holder, one, amount="3") for one in children),
    )
    assert sorted(answer.status_code for answer in answers) == [200] * 3 + [403] * 8
    assert (await seen(issuer, root))["budget_remaining"] == "1"
    assert {(await seen(holder, child))["budget_remaining"] for child in children} == {"1"}
    assert (await registry.supply())["delta"] == "0"


async def test_a_revocation_ends_all_that_was_drawn(issuer, holder, payee):
    root = await issue(issuer, holder)
    left, right = await drawn(holder, root, holder), await drawn(holder, root, holder)
    leaf = await drawn(holder, left, payee)
    ended = await revoke(holder, left)
    assert (ended.status_code, ended.json()) == (
        200,
        {"ok": True, "root_token_id": root["id"], "revoked_count": 2},
    )
    assert code(await pay(payee, holder, "1", leaf)) == (403, "CAPABILITY_ENDED")
    assert (await pay(holder, payee, "1", right)).status_code == 200
    assert (await revoke(issuer, root)).json()["revoked_count"] == 2
    assert (await revoke(issuer, root)).json()["revoked_count"] == 0
    assert {token["status"] for token in (await mine(holder))["tokens"]} == {"revoked"}
    refused = await pay(holder, payee, "1", right)
    assert refused.json()["error"]["context"] == {"status": "revoked"}


async def test_the_holder_and_every_issuer_above_may_revoke(issuer, holder, payee):
    for revoker in (payee, holder, issuer):
        root = await issue(issuer, holder)
        child = await drawn(holder, root, payee)
        assert (await revoke(revoker, child)).json()["revoked_count"] == 1
        assert code(await revoke(payee, root)) == (404, "CAPABILITY_UNKNOWN")


async def test_a_revocation_and_a_drawing_at_once_leave_nothing_alive(issuer, holder, payee):
    for _ in range(4):
        root = await issue(issuer, holder)
        answers = await at_once(
            *(draw(holder, root, holder) for _ in range(3)),
            revoke(issuer, root),
            *(draw(holder, root, holder) for _ in range(3)),
        )
        made = [answer for answer in answers if "token" in answer.json()]
        assert answers[3].json()["revoked_count"] == 1 + len(made)
        for answer in made:
            assert code(await pay(holder, payee, "0.1", answer.json())) == (403, "CAPABILITY_ENDED")


async def test_an_agent_has_a_thousand_capabilities_alive_at_most(registry, issuer):
    made = await issue(issuer)
    await run(
        registry,
        "INSERT INTO agents_capability (id, root_id, depth, path, token_sha256, issuer_id, permissions,"
        " no_redelegate, currency, expires_at)"
        " SELECT n.id, n.id, 0, ARRAY[n.id], sha256(n.id::text::bytea), c.issuer_id, c.permissions, true, 'AVT',"
        " c.expires_at FROM agents_capability c, (SELECT gen_random_uuid() AS id FROM generate_series(1, 999)) n"
        " WHERE c.id = $1",
        made["id"],
    )
    assert code(await ask(issuer, caveats=MAY_TRANSFER)) == (409, "TOO_MANY_CAPABILITIES")
    assert code(await draw(issuer, made)) == (409, "TOO_MANY_CAPABILITIES")
    await revoke(issuer, made)
    assert (await ask(issuer, caveats=MAY_TRANSFER)).status_code == 200


async def test_trees_that_ended_long_ago_are_forgotten(registry, issuer, holder):
    past, root = await issue(issuer, holder), await issue(issuer, holder)
    for parent in (past, root):
        await drawn(holder, parent, holder)
    await run(
        registry,
        "UPDATE agents_capability SET created_at = now() - interval '9 days', expires_at = now() - interval '8 days'"
        " WHERE root_id = $1",
        past["id"],
    )
    await registry.database.transaction(forget_capabilities)
    assert {token["root_token_id"] for token in (await mine(holder))["tokens"]} == {root["id"]}


async def test_the_owner_sees_what_its_agent_issued_and_holds(registry, owner, issuer, holder, payee):
    made = await issue(issuer, holder, budget_total="5")
    taken = await issue(payee, issuer)
    answer = await registry.get(f"/agents/{issuer.did}/delegations", headers=owner.headers)
    returned = answer.json()
    assert (answer.status_code, returned["agent_did"]) == (200, issuer.did)
    assert [(grant["id"], grant["role"]) for grant in returned["grants"]] == [
        (taken["id"], "holder"),
        (made["id"], "issuer"),
    ]
    assert made["token"] not in answer.text
    stranger = await registry.developer()
    refused = await registry.get(f"/agents/{issuer.did}/delegations", headers=stranger.headers)
    unknown = await registry.get(f"/agents/{NOBODY}/delegations", headers=stranger.headers)
    assert code(refused) == code(unknown) == (404, "RESOURCE_NOT_FOUND")


async def test_a_token_is_kept_as_its_fingerprint_only(registry, issuer, holder):
    made = await issue(issuer, holder)
    row = await registry.database.read(
        lambda tx: tx.fetchval("SELECT c::text FROM agents_capability c WHERE id = $1", made["id"])
    )
    assert made["token"].removeprefix("att_") not in row


async def test_where_delegation_is_not_enforced_the_routes_work_and_nothing_comes_of_it(
    start_registry, capsys
):
    for mode in ("off", "shadow"):
        registry = await start_registry(agent_delegation_mode=mode)
        owner = await registry.developer()
        issuer, holder, payee = [await owner.agent(name=name) for name in ("A", "B", "C")]
        await issuer.transfer(holder, "50")
        made = await issue(issuer, holder, {**MAY_TRANSFER, "max_per_tx": "1"}, budget_total="2")
        before = would_be_refused()
        capsys.readouterr()
        assert (await ask(issuer, caveats={"permissions": ["staking.manage"]})).status_code == 200
        assert (await pay(holder, payee, "3", made)).status_code == 200
        assert (await consume(holder, made, amount="5")).json()["ok"] is True
        assert code(await draw(holder, made, caveats={"max_per_tx": "2"})) == (403, "CAPABILITY_WIDENED")
        await set_roles(holder)
        assert code(await pay(holder, payee, "1", made)) == (403, "PERMISSION_MISSING")
        assert (await mine(holder))["mode"] == mode
        assert (await seen(holder, made))["budget_remaining"] == "2"
        assert would_be_refused() - before == (3 if mode == "shadow" else 0)
        lines = [line for line in capsys.readouterr().out.splitlines() if "would have been refused" in line]
        assert len(lines) == (3 if mode == "shadow" else 0)


async def test_where_roles_are_not_enforced_a_capability_still_bounds(start_registry):
    registry = await start_registry(agent_rbac_mode="off")
    issuer, payee = await registry.agent(name="A"), await registry.agent(name="B")
    holder = await registry.agent(name="C")
    await set_roles(issuer)
    await set_roles(holder)
    made = await issue(issuer, holder, budget_total="2")
    assert (await pay(holder, payee, "2", made)).status_code == 200
    assert code(await pay(holder, payee, "1", made)) == (403, "CAPABILITY_BUDGET")


def would_be_refused():
    codes = ("CAPABILITY_NOT_HELD", "CAPABILITY_CAVEAT", "CAPABILITY_BUDGET")
    return sum(shadow_refusals_total.labels("capabilities", each)._value.get() for each in codes)
