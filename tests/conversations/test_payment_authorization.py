"""POST /a2a-payment/authorize as the specification has it."""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

import httpx2
import pytest

from hansa.foundation.plumbing.web import idempotency
from hansa.foundation.values.money import format_amount, parse_amount
from hansa.rooms.commerce.payments import expire_due_tokens
from tests.paying import ELSEWHERE, Payments
from tests.properties.proof import prove_book
from tests.registry import TestAgent, TestDeveloper, TestRegistry, at_once


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


@pytest.fixture(scope="module")
async def any_two(registry: TestRegistry) -> Payments:
    """For requests whose refusal does not depend on who asks."""
    return await Payments.between_two(registry)


@pytest.fixture
async def payments(registry: TestRegistry) -> Payments:
    return await Payments.between_two(registry)


async def test_the_answer_has_the_token_and_all_that_the_specification_names(payments: Payments):
    made = await payments.authorized("2.50", contract_id=7)
    assert re.fullmatch(r"apt_[0-9a-f]{64}", made["token"])
    assert (made["amount"], made["currency"]) == ("2.5", "AVT")
    assert made["target_agent_did"] == payments.service.did
    assert made["contract_id"] == 7
    assert made["issuer"] == payments.registry.settings.base_url
    assert made["issuer_header"] == "X-Payment-Issuer"


@pytest.mark.parametrize("contract_id", [0, -1, 2**63 - 1, -(2**63), None])
async def test_a_contract_id_is_kept_and_returned_as_it_was_given(
    payments: Payments, contract_id: int | None
):
    made = await payments.authorized("0.01", contract_id=contract_id)
    verified = await payments.verify(made["token"])
    listed = await payments.listed(made["token_id"])
    assert [answer["contract_id"] for answer in (made, verified, listed)] == [contract_id] * 3


@pytest.mark.parametrize("contract_id", [2**63, -(2**63) - 1, "7", 7.0, True])
async def test_a_contract_id_that_is_no_integer_of_64_bits_is_refused(any_two: Payments, contract_id: object):
    assert (await any_two.ask(contract_id=contract_id)).status_code == 422


async def test_the_token_lives_900_seconds_unless_another_time_is_named(payments: Payments):
    for given, seconds in (({}, 900), ({"ttl_seconds": 60}, 60), ({"ttl_seconds": 3600}, 3600)):
        token_id = (await payments.authorized(**given))["token_id"]
        listed = await payments.listed(token_id)
        created, expires = (datetime.fromisoformat(listed[name]) for name in ("created_at", "expires_at"))
        assert expires - created == timedelta(seconds=seconds)


@pytest.mark.parametrize("seconds", [0, 59, 3601, -1, "900", 900.5, True])
async def test_a_lifetime_outside_60_to_3600_seconds_is_refused(any_two: Payments, seconds: object):
    assert (await any_two.ask(ttl_seconds=seconds)).status_code == 422


@pytest.mark.parametrize("amount", ["0", "0.00", "-1", "-0", "-0.00000001"])
async def test_a_decimal_that_is_not_above_zero_is_refused_with_400(any_two: Payments, amount: str):
    refused = await any_two.ask(amount)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "AMOUNT_NOT_POSITIVE")


@pytest.mark.parametrize(
    "amount",
    [
        5,
        5.5,
        None,
        True,
        [],
        {},
        "",
        "five",
        "1e5",
        "NaN",
        "Infinity",
        "+5",
        " 5",
        "5\n",
        "٣",
        "0.000000001",
        "10000000001",
    ],
    ids=repr,
)
async def test_what_is_no_decimal_is_refused_with_422(any_two: Payments, amount: object):
    assert (await any_two.ask(amount)).status_code == 422


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("01.50", "1.5"),
        ("00000000001", "1"),
        ("2.00000000", "2"),
        ("0.00000001", "0.00000001"),
        ("0.10", "0.1"),
        ("10", "10"),
    ],
)
async def test_an_amount_is_a_plain_decimal_without_needless_zeros_wherever_it_is_returned(
    payments: Payments, amount: str, shown: str
):
    made = await payments.authorized(amount)
    verified = await payments.verify(made["token"])
    settled = (await payments.settle(made["token"], wait=10)).json()
    listed = await payments.listed(made["token_id"])
    assert {answer["amount"] for answer in (made, verified, settled, listed)} == {shown}


@pytest.mark.parametrize(
    "target",
    [
        "",
        "did:a:b",
        "did:web:a",
        "x" * 9,
        "not a did at all",
        "did:web:with blank",
        "did:web:",
        "did:web::::::",
        "did:WEB:a.example",
        "did:w@b:a.example",
        "did:web:a.example/path",
        "did:web:a.example?query",
        "did:web:a.example#key",
        "did:web:a.example\n",
        "did:web:ex\u00e4mple",
        "did:web:a%2",
        "did::a.example",
        "DID:web:a.example",
    ],
)
async def test_a_target_that_is_no_did_or_shorter_than_10_characters_is_refused_with_400(
    any_two: Payments, target: str
):
    assert (await any_two.ask(target_agent_did=target)).status_code == 400


async def test_the_caller_itself_is_refused_with_400(any_two: Payments):
    assert (await any_two.ask(target_agent_did=any_two.caller.did)).status_code == 400


async def test_an_account_of_the_registry_is_refused_with_403(any_two: Payments):
    refused = await any_two.ask(target_agent_did="did:hansa:system:treasury")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "SYSTEM_ACCOUNT")


async def test_the_payee_need_not_be_registered_here(any_two: Payments):
    made = await any_two.authorized(target_agent_did=ELSEWHERE)
    assert made["target_agent_did"] == ELSEWHERE


async def test_a_payee_that_may_not_act_is_not_admitted(payments: Payments):
    administrator = await payments.registry.administrator("admin_enforcement")
    body = {"agent_dids": [payments.service.did], "reason": "test"}
    await payments.registry.post("/admin/agents/bulk/suspend", json=body, headers=administrator.headers)
    refused = await payments.ask()
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "PAYEE_NOT_ADMITTED")


async def test_an_agent_without_the_payment_permission_is_refused(payments: Payments):
    developer = await payments.registry.developer()
    agent = await developer.agent()
    await payments.registry.post(
        f"/agents/{agent.did}/authz/roles", json={"role": "staker"}, headers=developer.headers
    )
    await payments.registry.http.put(
        f"/api/v1/agents/{agent.did}/authz", json={"roles": ["staker"]}, headers=developer.headers
    )
    refused = await payments.post(
        "authorize", agent, {"target_agent_did": payments.service.did, "amount": "1"}
    )
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "PERMISSION_MISSING")


async def test_the_balance_is_checked_and_nothing_is_reserved(payments: Payments):
    await payments.authorized("90")
    await payments.authorized("90")
    assert await payments.caller.balance() == "100"
    refused = await payments.ask("100")
    assert refused.status_code == 402
    assert refused.json()["error"]["context"] == {"available": "100", "required": "100.5"}


async def test_a_payment_elsewhere_requires_the_amount_alone(payments: Payments):
    assert (await payments.ask("100", target_agent_did=ELSEWHERE)).status_code == 200
    refused = await payments.ask("100.5", target_agent_did=ELSEWHERE)
    assert refused.json()["error"]["context"] == {"available": "100", "required": "100.5"}


async def test_a_caller_has_at_most_20_unused_tokens_however_many_it_asks_for_at_once(payments: Payments):
    answers = await at_once(*(payments.ask() for _ in range(100)))
    statuses = [answer.status_code for answer in answers]
    assert (statuses.count(200), statuses.count(429)) == (20, 80)
    made = next(answer.json() for answer in answers if answer.status_code == 200)
    await payments.release(made["token"])
    assert [(await payments.ask()).status_code for _ in range(2)] == [200, 429]


async def test_a_caller_with_20_unused_tokens_learns_when_the_first_of_them_expires(payments: Payments):
    await payments.authorized(ttl_seconds=60)
    for _ in range(19):
        await payments.authorized()
    refused = await payments.ask()
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "TOO_MANY_UNUSED_TOKENS")
    assert 1 <= int(refused.headers["Retry-After"]) <= 60


async def test_a_verified_token_is_no_unused_one_and_an_expired_one_is_none_either(payments: Payments):
    made = [await payments.authorized() for _ in range(20)]
    assert (await payments.ask()).status_code == 429
    await payments.verify(made[0]["token"])
    assert [(await payments.ask()).status_code for _ in range(2)] == [200, 429]
    await payments.past_expiry(made[1]["token_id"])
    assert [(await payments.ask()).status_code for _ in range(2)] == [200, 429]


async def test_a_token_that_was_settled_or_given_up_is_no_unused_one(payments: Payments):
    made = [await payments.authorized() for _ in range(20)]
    await payments.settle(made[0]["token"], wait=10)
    assert [(await payments.ask()).status_code for _ in range(2)] == [200, 429]
    await payments.settle(made[1]["token"], success=False)
    assert [(await payments.ask()).status_code for _ in range(2)] == [200, 429]


async def test_a_repeated_key_returns_the_same_token(payments: Payments):
    first, again = [await payments.ask("1", key="order-17") for _ in range(2)]
    assert first.json() == again.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.headers


async def test_the_answer_kept_under_a_key_holds_no_token_in_clear_and_is_deleted_after_24_hours(
    registry_of_test: TestRegistry,
):
    payments = await Payments.between_two(registry_of_test)
    made = await payments.authorized(key="order-17")
    kept = await payments.registry.database.query(
        lambda tx: tx.fetch("SELECT answer FROM plumbing_idempotency")
    )
    assert len(kept) == 1
    assert made["token"] not in kept[0]["answer"]
    assert made["token_id"] not in kept[0]["answer"]
    database = payments.registry.database
    for hours, deleted in ((23, 0), (1, 1)):
        await database.transaction(
            lambda tx, hours=hours: tx.execute(
                "UPDATE plumbing_idempotency SET created_at = created_at - make_interval(hours => $1)", hours
            )
        )
        assert await database.transaction(idempotency.forget_expired) == deleted
    assert (await payments.authorized(key="order-17"))["token_id"] != made["token_id"], "the key is free"


@pytest.mark.parametrize("end", ["verified", "settled", "released", "given_up", "expired"])
async def test_a_repeated_key_returns_the_same_token_whatever_became_of_it(payments: Payments, end: str):
    first = await payments.ask("1", key="order-17")
    made = first.json()
    match end:
        case "verified":
            await payments.verify(made["token"])
        case "settled":
            await payments.settle(made["token"], wait=10)
        case "released":
            await payments.release(made["token"])
        case "given_up":
            await payments.settle(made["token"], success=False)
        case _:
            await payments.past_expiry(made["token_id"])
            assert (await payments.verify(made["token"]))["error"] == "Token expired"
    again = await payments.ask("1", key="order-17")
    assert (again.status_code, again.content) == (200, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert (await payments.ask("1", key="order-17", ttl_seconds=60)).status_code == 422


async def test_a_key_of_another_agent_or_another_route_is_a_key_of_its_own(payments: Payments):
    made = await payments.authorized("1", key="order-17")
    other = await payments.registry.agent()
    body = {"target_agent_did": payments.service.did, "amount": "1"}
    fresh = await payments.post("authorize", other, body, **{"Idempotency-Key": "order-17"})
    assert (fresh.status_code, fresh.json()["token"] != made["token"]) == (200, True)
    path = f"release-by-id/{made['token_id']}"
    released = await payments.post(path, payments.caller, None, **{"Idempotency-Key": "order-17"})
    assert released.json()["status"] == "released"
    assert "Idempotent-Replayed" not in {**fresh.headers, **released.headers}


async def test_a_repeated_key_with_another_body_is_refused(payments: Payments):
    await payments.authorized("1", key="order-17")
    refused = await payments.ask("2", key="order-17")
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")


async def test_a_refused_request_leaves_its_key_free(payments: Payments):
    assert (await payments.ask("1000", key="order-17")).status_code == 402
    assert (await payments.ask("1", key="order-17")).status_code == 200


async def test_a_reserve_moves_amount_and_fee_out_of_the_balance_and_a_release_brings_them_back(
    payments: Payments,
):
    made = await payments.authorized("10", reserve=True)
    assert made["reserved"] is True
    assert await payments.caller.balance() == "89.95"
    shown = await payments.registry.get("/staking/balance", headers=payments.caller.headers)
    assert (shown.json()["liquid_balance"], shown.json()["total_balance"]) == ("89.95", "100")
    assert (await payments.release(made["token"])).status_code == 200
    assert await payments.caller.balance() == "100"
    assert (await payments.registry.supply())["delta"] == "0"


@pytest.mark.parametrize("how", [{"reserve": True}, {"capture_by": "payee"}], ids=["reserve", "payee"])
async def test_units_are_not_reserved_for_a_payee_elsewhere(any_two: Payments, how: dict[str, object]):
    refused = await any_two.ask(target_agent_did=ELSEWHERE, **how)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "RESERVE_NOT_POSSIBLE")


async def test_a_payment_beyond_the_spend_policy_is_refused_and_one_within_counts_at_once(payments: Payments):
    developer = await payments.registry.developer()
    agent = await developer.agent()
    policy = {"per_tx_max": "5", "per_day_max": "8", "allowlist": None, "approval_over": None}
    put = await payments.registry.http.put(
        f"/api/v1/agents/{agent.did}/authz", json={"spend_policy": policy}, headers=developer.headers
    )
    assert put.status_code == 200, put.text
    governed = Payments(payments.registry, agent, payments.service)
    assert (await governed.ask("6")).json()["error"]["code"] == "SPEND_OVER_PER_TX_MAX"
    made = await governed.authorized("5")
    assert (await governed.ask("4")).json()["error"]["code"] == "SPEND_OVER_PER_DAY_MAX"
    await governed.release(made["token"])
    assert (await governed.ask("4")).status_code == 200


async def bounded(payments: Payments, policy: dict[str, str] | None) -> Payments:
    """The same service, and a caller whose owner bounds its payments."""
    developer = await payments.registry.developer()
    agent = await developer.agent()
    await bound(developer, agent, policy)
    return Payments(payments.registry, agent, payments.service)


async def bound(developer: TestDeveloper, agent: TestAgent, policy: dict[str, str] | None) -> None:
    body = {"spend_policy": policy}
    answer = await developer.registry.http.put(
        f"/api/v1/agents/{agent.did}/authz", json=body, headers=developer.headers
    )
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("more", [{}, {"reserve": True}], ids=["plain", "reserved"])
async def test_tokens_past_their_expiry_are_no_unused_ones_of_a_caller_with_a_spend_policy(
    payments: Payments, more: dict[str, bool]
):
    governed = await bounded(payments, {"per_day_max": "100"})
    made = [await governed.authorized(**more) for _ in range(20)]
    assert (await governed.ask(**more)).status_code == 429
    for one in made[:2]:
        await governed.past_expiry(one["token_id"])
    assert [(await governed.ask(**more)).status_code for _ in range(3)] == [200, 200, 429]
    await expire_due_tokens(payments.registry.runtime)
    assert (await governed.ask(**more)).status_code == 429
    assert [(await governed.listed(one["token_id"]))["status"] for one in made[:3]] == [
        *["expired"] * 2,
        "authorized",
    ]
    await payments.registry.database.read(prove_book)


@pytest.mark.parametrize("policies", [(None, {"per_day_max": "50"}), ({"per_day_max": "50"}, None)])
async def test_a_repeated_key_returns_the_same_token_after_the_spend_policy_was_changed(
    payments: Payments, policies: tuple[dict[str, str] | None, ...]
):
    developer = await payments.registry.developer()
    own = Payments(payments.registry, await developer.agent(), payments.service)
    answers = []
    for policy in policies:
        await bound(developer, own.caller, policy)
        answers.append(await own.ask("1", key="order-17"))
    first, again = answers
    assert first.json() == again.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert first.status_code == 200


async def test_a_payment_that_the_owner_has_to_approve_answers_403_and_passes_once_approved(
    payments: Payments,
):
    developer = await payments.registry.developer()
    agent = await developer.agent()
    policy = {"per_tx_max": None, "per_day_max": None, "allowlist": None, "approval_over": "5"}
    await payments.registry.http.put(
        f"/api/v1/agents/{agent.did}/authz", json={"spend_policy": policy}, headers=developer.headers
    )
    governed = Payments(payments.registry, agent, payments.service)
    refused = await governed.ask("6")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "SPEND_APPROVAL_REQUIRED")
    approval = refused.json()["error"]["context"]["approval_id"]
    decided = await payments.registry.post(
        f"/agents/{agent.did}/spend-approvals/{approval}/approve", headers=developer.headers
    )
    assert decided.status_code == 200, decided.text
    assert (await governed.ask("6", approval_id=approval)).status_code == 200


async def capability_of(payments: Payments, **members: object) -> dict[str, str]:
    """The header with a capability that the caller issued to itself."""
    body = {"caveats": {"permissions": ["payment.pay"]}, **members}
    made = await payments.registry.post("/agents/capabilities", json=body, headers=payments.caller.headers)
    assert made.status_code == 200, made.text
    return {"X-Capability-Token": made.json()["token"]}


async def test_a_capability_bounds_what_is_authorized_holds_it_and_gets_it_back(payments: Payments):
    shown = await capability_of(payments, budget_total="5")

    async def ask(amount: str) -> httpx2.Response:
        body = {"target_agent_did": payments.service.did, "amount": amount}
        return await payments.post("authorize", payments.caller, body, **shown)

    refused = await ask("6")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "CAPABILITY_BUDGET")
    made = await ask("4")
    assert made.status_code == 200, made.text
    assert (await ask("2")).json()["error"]["code"] == "CAPABILITY_BUDGET", "it is held when it is authorized"
    assert (await payments.release(made.json()["token"])).status_code == 200
    settled = await ask("5")
    assert settled.status_code == 200, settled.text
    assert (await payments.settle(settled.json()["token"], wait=10)).json()["status"] == "settled"
    assert (await ask("1")).json()["error"]["code"] == "CAPABILITY_BUDGET"


@pytest.mark.parametrize(
    ("end", "spent"),
    [("part", "2"), ("whole", "5"), ("released", "0"), ("given_up", "0"), ("nothing", "0"), ("expired", "0")],
)
async def test_of_a_token_with_every_bound_what_is_not_paid_goes_back_to_each(
    payments: Payments, end: str, spent: str
):
    """A firm quote, payee capture, a spend policy and a capability together."""
    governed = await bounded(payments, {"per_day_max": "5"})
    shown = await capability_of(governed, budget_total="5")
    query = {"target_agent_did": payments.service.did, "amount": "5", "firm": "true"}
    quoted = await payments.registry.get("/a2a-payment/quote", params=query, headers=governed.caller.headers)
    body = {
        "target_agent_did": payments.service.did,
        "amount": "5",
        "capture_by": "payee",
        "resource": "translate",
        "quote_token": quoted.json()["quote_token"],
    }
    made = (await governed.post("authorize", governed.caller, body, **shown)).json()
    assert await governed.caller.balance() == "94.975"
    ask = {"target_agent_did": payments.service.did, "amount": "0.00000001"}
    refused = await governed.post("authorize", governed.caller, ask, **shown)
    assert refused.json()["error"]["code"] in {"CAPABILITY_BUDGET", "SPEND_OVER_PER_DAY_MAX"}
    match end:
        case "released":
            await governed.release(made["token"])
        case "given_up":
            await governed.settle(made["token"], success=False)
        case "expired":
            await governed.past_expiry(made["token_id"])
            await expire_due_tokens(payments.registry.runtime)
        case _:
            amounts = {"part": {"capture_amount": "2"}, "whole": {}, "nothing": {"capture_amount": "0"}}
            await governed.settle(made["token"], by=payments.service, wait=10, **amounts[end])
    left = format_amount(5 * 10**8 - parse_amount(spent))
    paid = parse_amount(spent)
    assert await governed.caller.balance() == format_amount(100 * 10**8 - paid - paid // 200)
    for headers in (shown, {}):
        if left != "0":
            again = await governed.post("authorize", governed.caller, {**ask, "amount": left}, **headers)
            assert again.status_code == 200, again.text
            await governed.release(again.json()["token"])
        more = {**ask, "amount": format_amount(parse_amount(left) + 1)}
        assert (await governed.post("authorize", governed.caller, more, **headers)).status_code == 403


async def test_an_owner_who_acts_as_the_agent_authorizes_within_the_agents_limits_and_settles(
    payments: Payments,
):
    registry = payments.registry
    developer = await registry.developer()
    agent = await developer.agent()
    await bound(developer, agent, {"per_tx_max": "5"})
    headers = {**developer.headers, **registry.elsewhere()}
    acts = await registry.post(f"/agents/{agent.did}/act-token", headers=headers)
    owner = TestAgent(registry, agent.did, acts.json()["access_token"], agent.created)
    acting = Payments(registry, owner, payments.service)
    assert (await acting.ask("6")).json()["error"]["code"] == "SPEND_OVER_PER_TX_MAX"
    made = await acting.authorized("5")
    assert (await acting.settle(made["token"], wait=10)).json()["status"] == "settled"
    assert await agent.balance() == "94.975"


@dataclass(frozen=True)
class Check:
    """One check of authorize: how it refuses, and a request that it refuses."""

    refusal: tuple[int, str]
    amount: str = "1"
    ttl_seconds: int = 900
    target: str | None = None
    is_authenticated: bool = True
    role: str = "client"
    is_bounded: bool = False
    is_payee_suspended: bool = False
    is_cap_reached: bool = False

    def with_fault_of(self, other: "Check") -> "Check":
        """This check, with a request that the other one refuses as well."""
        faults = {name: value for name, value in vars(self).items() if value != getattr(SOUND, name)}
        return replace(other, **faults)


SOUND = Check((200, ""))
# In the order of the specification.
CHECKS = {
    "credential": Check((401, "AUTH_FAILED"), is_authenticated=False),
    "schema": Check((422, "VALIDATION_ERROR"), ttl_seconds=1),
    "amount above zero": Check((400, "AMOUNT_NOT_POSITIVE"), amount="-1"),
    "target": Check((400, "TARGET_AGENT_MALFORMED"), target="did:hansa:system:with blank"),
    "system DID": Check((403, "SYSTEM_ACCOUNT"), target="did:hansa:system:treasury"),
    "permission": Check((403, "PERMISSION_MISSING"), role="staker"),
    "spend policy": Check((403, "SPEND_OVER_PER_TX_MAX"), amount="200", is_bounded=True),
    "provider policy": Check((403, "PAYEE_NOT_ADMITTED"), is_payee_suspended=True),
    "cap": Check((429, "TOO_MANY_UNUSED_TOKENS"), is_cap_reached=True),
    "balance": Check((402, "INSUFFICIENT_BALANCE"), amount="200"),
}
PAIRS = [*pairwise(CHECKS)]


async def refusal_of(payments: Payments, check: Check) -> tuple[int, str]:
    """The answer to a request that has the faults of a check."""
    registry, payee = payments.registry, payments.service
    developer = await registry.developer()
    caller = await developer.agent()
    asking = Payments(registry, caller, payee)
    for _ in range(20 if check.is_cap_reached else 0):
        await asking.authorized("1")
    rights = {"roles": [check.role], "spend_policy": {"per_tx_max": "5"} if check.is_bounded else None}
    path = f"/api/v1/agents/{caller.did}/authz"
    answer = await registry.http.put(path, json=rights, headers=developer.headers)
    assert answer.status_code == 200, answer.text
    if check.is_payee_suspended:
        administrator = await registry.administrator("admin_enforcement")
        suspension = {"agent_dids": [payee.did], "reason": "test"}
        answer = await registry.post(
            "/admin/agents/bulk/suspend", json=suspension, headers=administrator.headers
        )
        assert answer.status_code == 200, answer.text
    body = {
        "target_agent_did": check.target or payee.did,
        "amount": check.amount,
        "ttl_seconds": check.ttl_seconds,
    }
    refused = await payments.post("authorize", caller if check.is_authenticated else None, body)
    return refused.status_code, refused.json()["error"]["code"]


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
async def test_each_check_refuses_with_its_own_status(payments: Payments, check: Check):
    assert await refusal_of(payments, check) == check.refusal


@pytest.mark.parametrize(("earlier", "later"), PAIRS, ids=[f"{first}, {then}" for first, then in PAIRS])
async def test_of_two_reasons_to_refuse_the_one_that_is_checked_first_is_stated(
    payments: Payments, earlier: str, later: str
):
    both = CHECKS[earlier].with_fault_of(CHECKS[later])
    assert await refusal_of(payments, both) == CHECKS[earlier].refusal


async def test_a_body_without_a_form_is_refused_before_the_permission_is_judged(payments: Payments):
    developer = await payments.registry.developer()
    agent = await developer.agent()
    await developer.registry.http.put(
        f"/api/v1/agents/{agent.did}/authz", json={"roles": ["staker"]}, headers=developer.headers
    )
    for refused in (
        await payments.post("authorize", agent, {}),
        await payments.post("authorize", agent, {"target_agent_did": agent.did}),
    ):
        assert refused.status_code == 422
    oneself = {"target_agent_did": agent.did, "amount": "1"}
    assert (await payments.post("authorize", agent, oneself)).status_code == 400
