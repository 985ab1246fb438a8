"""Payments from the treasury of an organization: tiers, approvals, budgets, sums of a day."""

import pytest

from hansa.rooms.organizations.requests.delayed import carry_out_due
from tests.notified import notified_of, subscribe
from tests.organizations import code, found, id_of
from tests.registry import text_of
from tests.treasuries import ONE_OWNER, act, end_delay, fund, liquid, pay, ruled


@pytest.fixture
async def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def guild(registry):
    return await found(registry)


async def test_without_rules_an_admin_pays_at_once(registry, guild):
    await fund(guild)
    payee, admin = await registry.agent(), await guild.member("admin")
    paid = await pay(guild, payee, "10", admin, message="for work", note="invoice 7")
    assert paid.status_code == 201, paid.text
    request = paid.json()
    assert (request["kind"], request["status"], request["approvals_needed"]) == ("payment", "EXECUTED", 0)
    assert request["body"] == {
        "receiver_did": payee.did,
        "amount": "10",
        "message": "for work",
        "budget_id": None,
    }
    assert (request["note"], request["executes_at"], request["approvals"]) == ("invoice 7", None, [])
    assert request["result"]["transfer_id"] is None
    assert request["result"]["tx_id"] > 0
    assert await payee.balance() == "110"
    assert await liquid(guild) == "79.95"
    treasury = await guild.read(admin, "/treasury")
    assert (treasury["did"], treasury["spent_today"]) == (guild.created["treasury_did"], "10")
    lines = (await guild.read(admin, "/treasury/transactions"))["items"]
    assert (lines[0]["counterparty"], lines[0]["amount"], lines[0]["message"]) == (
        payee.did,
        "10",
        "for work",
    )


async def test_above_a_tier_another_approves_by_a_login_and_the_units_move_in_that_commit(registry, guild):
    await fund(guild)
    await ruled(guild, ONE_OWNER)
    payee, admin = await registry.agent(), await guild.member("admin")
    asked = (await pay(guild, payee, "20", admin)).json()
    assert (asked["status"], asked["approvals_needed"], asked["result"]) == ("PENDING", 1, None)
    number = asked["request_id"]
    assert await payee.balance() == "100"
    assert code(await guild.approve(admin, number)) == (403, "ORG_ROLE_REQUIRED")
    assert code(await guild.approve(await guild.owner.api_key("*"), number)) == (403, "SESSION_REQUIRED")
    assert (await guild.approve(guild.owner, number, password="Wrong-Horse-8")).status_code == 401
    waiting = (await guild.read(guild.owner, "/summary"))["waiting_for_me"]
    assert [one["request_id"] for one in waiting] == [number]
    done = (await guild.approve(guild.owner, number)).json()
    assert (done["status"], len(done["approvals"])) == ("EXECUTED", 1)
    assert await payee.balance() == "120"
    assert code(await act(guild, admin, number, "cancel")) == (409, "REQUEST_ENDED")


async def test_an_uncovered_payment_is_refused_and_nothing_is_stored(registry, guild):
    payee = await registry.agent()
    refused = await pay(guild, payee, "10")
    assert code(refused) == (402, "INSUFFICIENT_BALANCE")
    assert (await guild.read(guild.owner, "/treasury/requests"))["items"] == []
    assert (await guild.read(guild.owner, "/treasury"))["spent_today"] == "0"


async def test_an_approved_payment_that_is_uncovered_stays_pending_until_it_is_retried(registry, guild):
    await ruled(guild, ONE_OWNER)
    payee, admin = await registry.agent(), await guild.member("admin")
    number = (await pay(guild, payee, "20", admin)).json()["request_id"]
    assert code(await act(guild, admin, number, "retry")) == (409, "APPROVALS_MISSING")
    approved = (await guild.approve(guild.owner, number)).json()
    assert (approved["status"], len(approved["approvals"])) == ("PENDING", 1)
    assert "does not cover" in approved["reason"]
    assert code(await act(guild, admin, number, "retry")) == (402, "INSUFFICIENT_BALANCE")
    await fund(guild)
    assert code(await act(guild, await guild.member(), number, "retry")) == (403, "ORG_ROLE_REQUIRED")
    done = (await act(guild, admin, number, "retry")).json()
    assert (done["status"], done["reason"]) == ("EXECUTED", None)
    assert await payee.balance() == "120"


async def test_one_rejection_of_an_approver_ends_a_payment(registry, guild):
    await fund(guild)
    admin, second, third = [await guild.member("admin") for _ in range(3)]
    member = await guild.member()
    await ruled(guild, {"over": "10", "approvals": 2, "from": "admin"})
    number = (await pay(guild, await registry.agent(), "20", admin)).json()["request_id"]
    assert (await guild.approve(second, number)).json()["status"] == "PENDING"
    assert code(await act(guild, admin, number, "reject")) == (403, "OWN_REQUEST")
    assert code(await act(guild, member, number, "reject")) == (403, "ORG_ROLE_REQUIRED")
    rejected = (await act(guild, third, number, "reject", reason="Too dear.")).json()
    assert (rejected["status"], rejected["reason"]) == ("REJECTED", "Too dear.")
    assert code(await guild.approve(guild.owner, number)) == (409, "REQUEST_ENDED")


async def test_its_initiator_and_the_owners_cancel_a_payment(registry, guild):
    await ruled(guild, ONE_OWNER)
    payee, admin, other = await registry.agent(), await guild.member("admin"), await guild.member("admin")
    first = (await pay(guild, payee, "20", admin)).json()["request_id"]
    assert code(await act(guild, other, first, "cancel")) == (403, "ORG_ROLE_REQUIRED")
    assert (await act(guild, admin, first, "cancel")).json()["status"] == "CANCELLED"
    second = (await pay(guild, payee, "20", admin)).json()["request_id"]
    assert (await act(guild, guild.owner, second, "cancel")).json()["status"] == "CANCELLED"


async def test_a_member_who_is_no_admin_asks_for_no_payment_without_a_budget(registry, guild):
    await fund(guild)
    payee = await registry.agent()
    for role in ("viewer", "member"):
        refused = await pay(guild, payee, "1", await guild.member(role))
        assert code(refused) == (403, "ORG_ROLE_REQUIRED")
    assert (await pay(guild, payee, "1", await registry.developer())).status_code == 404


async def test_a_team_named_by_a_tier_approves_and_nobody_else_does(registry, guild):
    await fund(guild)
    await guild.send(guild.owner, "POST", "/teams", json={"slug": "finance", "grant": "read"})
    treasurer, admin, other = await guild.member(), await guild.member("admin"), await guild.member("admin")
    placed = await guild.send(guild.owner, "PUT", f"/teams/finance/members/{await id_of(treasurer)}")
    assert placed.status_code == 200
    await ruled(guild, {"over": "10", "approvals": 1, "from": "finance"})
    number = (await pay(guild, await registry.agent(), "20", admin)).json()["request_id"]
    assert code(await guild.approve(other, number)) == (403, "NOT_AN_APPROVER")
    assert (await guild.approve(treasurer, number)).json()["status"] == "EXECUTED"
    refused = await guild.send(guild.owner, "DELETE", "/teams/finance")
    assert code(refused) == (409, "TEAM_IN_RULES")


async def test_the_sum_of_a_day_without_approvals_is_limited_by_the_lowest_tier(registry, guild):
    await fund(guild)
    await ruled(guild, ONE_OWNER)
    payee, admin = await registry.agent(), await guild.member("admin")
    assert [(await pay(guild, payee, amount, admin)).json()["status"] for amount in ("6", "4")] == [
        "EXECUTED"
    ] * 2
    third = (await pay(guild, payee, "0.1", admin)).json()
    assert (third["status"], third["approvals_needed"]) == ("PENDING", 1)
    assert (await guild.approve(guild.owner, third["request_id"])).json()["status"] == "EXECUTED"
    assert (await guild.read(guild.owner, "/treasury"))["spent_today"] == "10.1"


async def test_unapproved_per_day_max_replaces_the_lowest_over(registry, guild):
    await fund(guild)
    await ruled(guild, ONE_OWNER, unapproved_per_day_max="3")
    payee = await registry.agent()
    assert (await pay(guild, payee, "3")).json()["status"] == "EXECUTED"
    assert (await pay(guild, payee, "1")).json()["status"] == "PENDING"


async def test_the_maximum_of_a_day_is_judged_when_units_leave(registry, guild):
    await fund(guild)
    await ruled(guild, ONE_OWNER, per_day_max="25")
    payee, admin = await registry.agent(), await guild.member("admin")
    first, second = [(await pay(guild, payee, "20", admin)).json()["request_id"] for _ in range(2)]
    assert (await guild.approve(guild.owner, first)).json()["status"] == "EXECUTED"
    late = (await guild.approve(guild.owner, second)).json()
    assert late["status"] == "PENDING"
    assert "5 that are left" in late["reason"]
    assert code(await act(guild, admin, second, "retry")) == (403, "TREASURY_OVER_PER_DAY_MAX")
    assert code(await pay(guild, payee, "5.1", admin)) == (403, "TREASURY_OVER_PER_DAY_MAX")


async def test_the_allowlist_is_judged_when_units_leave_and_own_agents_pass(registry, guild):
    await fund(guild)
    payee, other, own = await registry.agent(), await registry.agent(), await guild.agent()
    await ruled(guild, allowlist=[payee.did])
    assert (await pay(guild, payee, "1")).json()["status"] == "EXECUTED"
    assert code(await pay(guild, other, "1")) == (403, "TREASURY_PAYEE_NOT_ALLOWED")
    assert (await pay(guild, own, "1")).json()["status"] == "EXECUTED"


async def test_an_idempotency_key_makes_one_payment(registry, guild):
    await fund(guild)
    payee = await registry.agent()
    body = {"kind": "payment", "receiver_did": payee.did, "amount": "5"}
    address = f"/organizations/{guild.slug}/treasury/requests"
    headers = {**guild.owner.headers, "Idempotency-Key": "invoice-7"}
    first, again = [await registry.post(address, json=body, headers=headers) for _ in range(2)]
    assert first.json() == again.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert await payee.balance() == "105"


async def test_fewer_others_than_needed_all_approve_and_a_day_of_delay_replaces_the_rest(registry, guild):
    await fund(guild)
    payee, admin, member = await registry.agent(), await guild.member("admin"), await guild.member()
    await ruled(guild, {"over": "10", "approvals": 3, "from": "admin"})
    asked = (await pay(guild, payee, "20", admin)).json()
    assert (asked["status"], asked["approvals_needed"], asked["executes_at"]) == ("PENDING", 3, None)
    number = asked["request_id"]
    waiting = (await guild.approve(guild.owner, number)).json()
    assert (waiting["status"], waiting["reason"]) == ("PENDING", None)
    assert waiting["executes_at"] is not None
    assert code(await act(guild, admin, number, "retry")) == (409, "REQUEST_DELAYED")
    await carry_out_due(registry.runtime)
    assert await payee.balance() == "100"
    await end_delay(registry, number)
    await carry_out_due(registry.runtime)
    done = await guild.read(member, f"/treasury/requests/{number}")
    assert (done["status"], await payee.balance()) == ("EXECUTED", "120")


async def test_a_request_without_any_other_approver_waits_a_day_and_every_member_is_notified(registry, guild):
    await fund(guild)
    await ruled(guild, ONE_OWNER)
    payee, member = await registry.agent(), await guild.member("viewer")
    asked = (await pay(guild, payee, "20")).json()
    assert (asked["status"], asked["executes_at"] is None) == ("PENDING", False)
    mailed = {mail["to"] for mail in await registry.outbox() if asked["request_id"] in text_of(mail)}
    assert mailed == {guild.owner.email.lower(), member.email.lower()}
    second = await guild.member()
    promoted = (await guild.change(guild.owner, second, "owner")).json()
    for request in (promoted, asked):
        await end_delay(registry, request["request_id"])
        await carry_out_due(registry.runtime)
    # There is an approver again, who has not approved.
    still = await guild.read(guild.owner, f"/treasury/requests/{asked['request_id']}")
    assert (still["status"], still["executes_at"], await payee.balance()) == ("PENDING", None, "100")
    assert (await guild.approve(second, asked["request_id"])).json()["status"] == "EXECUTED"


async def test_a_request_of_the_past_week_has_expired(registry, guild):
    await ruled(guild, ONE_OWNER)
    admin = await guild.member("admin")
    number = (await pay(guild, await registry.agent(), "20", admin)).json()["request_id"]
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE organizations_request SET expires_at = now() WHERE id = $1::text::uuid", number
        )
    )
    refused = await guild.approve(guild.owner, number)
    assert code(refused) == (409, "REQUEST_ENDED")
    assert refused.json()["error"]["context"] == {"state": "EXPIRED"}


async def test_a_hundred_requests_are_open_at_once(registry, guild):
    await ruled(guild, ONE_OWNER)
    payee, admin = await registry.agent(), await guild.member("admin")
    await registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO organizations_request (id, organization_id, kind, body, initiator_id, amount, expires_at)"
            " SELECT gen_random_uuid(), $1::text::uuid, 'payment', '{}', 1, 1, now() + interval '1 day' FROM generate_series(1, 100)",
            guild.created["id"],
        )
    )
    assert code(await pay(guild, payee, "20", admin)) == (409, "LIMIT_REACHED")
    await fund(guild)
    assert (await pay(guild, payee, "2", admin)).json()["status"] == "EXECUTED"


async def test_a_suspended_organization_pays_nothing(registry, guild):
    await fund(guild)
    await ruled(guild, ONE_OWNER)
    payee, admin = await registry.agent(), await guild.member("admin")
    number = (await pay(guild, payee, "20", admin)).json()["request_id"]
    enforcer = await registry.administrator("admin_enforcement")
    path = f"/admin/organizations/{guild.slug}"
    stopped = await registry.post(f"{path}/suspend", json={"reason": "Spam."}, headers=enforcer.headers)
    assert stopped.status_code == 200, stopped.text
    assert code(await guild.approve(guild.owner, number)) == (409, "ORGANIZATION_NOT_ACTIVE")
    assert code(await pay(guild, payee, "1", admin)) == (409, "ORGANIZATION_NOT_ACTIVE")
    await registry.post(f"{path}/reinstate", json={"reason": "An error."}, headers=enforcer.headers)
    assert (await guild.approve(guild.owner, number)).json()["status"] == "EXECUTED"


async def test_members_are_notified_of_requests(registry, guild):
    await fund(guild)
    await ruled(guild, ONE_OWNER)
    admin, stranger = await guild.member("admin"), await registry.developer()
    kinds = [f"treasury.request_{name}" for name in ("created", "approved", "executed", "rejected")]
    for one in (admin, stranger):
        await subscribe(one, *kinds)
    number = (await pay(guild, await registry.agent(), "20", admin)).json()["request_id"]
    executed = (await guild.approve(guild.owner, number)).json()
    queued = await notified_of(registry, guild.created["treasury_did"])
    assert [kind for kind, _ in queued] == kinds[:3]
    assert queued[2][1] == {
        "organization_id": guild.created["id"],
        "treasury_did": guild.created["treasury_did"],
        "request_id": number,
        "kind": "payment",
        "amount": "20",
        "tx_id": executed["result"]["tx_id"],
    }


def proposal(provider, amount="20", **more):
    """The body of a contract with a provider."""
    return {
        "provider_did": provider.did,
        "title": "Manual",
        "contract_type": "service",
        "amount": amount,
        "terms": "Translate the manual.",
        "acceptance_criteria": "All pages.",
        "review_by": "2030-01-01T00:00:00Z",
        "funded": True,
        **more,
    }


async def propose(guild, by, contract, **more):
    body = {"kind": "contract", "contract": contract, **more}
    return await guild.send(by, "POST", "/treasury/requests", json=body)


async def test_a_funded_contract_of_the_treasury_is_proposed_after_the_approvals_of_its_amount(
    registry, guild
):
    await fund(guild)
    await ruled(guild, ONE_OWNER, per_day_max="25")
    provider, admin = await registry.agent(), await guild.member("admin")
    asked = (await propose(guild, admin, proposal(provider), note="part 1")).json()
    assert (asked["kind"], asked["status"], asked["note"]) == ("contract", "PENDING", "part 1")
    assert asked["body"]["contract"]["provider_did"] == provider.did
    done = (await guild.approve(guild.owner, asked["request_id"])).json()
    assert (done["status"], done["result"]["tx_id"]) == ("EXECUTED", None)
    number = done["result"]["contract_id"]
    accepted = await registry.post(f"/contracts/{number}/accept", headers=provider.headers)
    assert accepted.status_code == 200, accepted.text
    assert accepted.json()["contractor_did"] == guild.created["treasury_did"]
    treasury = await guild.read(guild.owner, "/treasury")
    assert (treasury["spent_today"], treasury["balances"]["escrow"]) == ("20", "20.1")
    assert code(await propose(guild, admin, proposal(provider, "6"))) == (403, "TREASURY_OVER_PER_DAY_MAX")
    assert (await propose(guild, admin, proposal(provider, "5"))).json()["status"] == "EXECUTED"


@pytest.mark.parametrize("change", [{"funded": False}, {"provider_did": None}])
async def test_a_contract_of_a_treasury_is_funded_and_names_its_provider(registry, guild, change):
    contract = proposal(await registry.agent()) | change
    assert code(await propose(guild, guild.owner, contract)) == (422, "CONTRACT_NOT_FUNDED")


async def test_the_allowlist_holds_for_providers(registry, guild):
    await ruled(guild, allowlist=[])
    refused = await propose(guild, guild.owner, proposal(await registry.agent(), "1"))
    assert code(refused) == (403, "TREASURY_PAYEE_NOT_ALLOWED")


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "payment", "amount": "1"},
        {"kind": "payment", "receiver_did": "did:hansa:x", "amount": "1", "contract": {}},
        {"kind": "contract"},
        {"kind": "contract", "contract": {"approval_id": "1b4e28ba-2fa1-41d2-883f-0016d3cca427"}},
        {"kind": "listing", "receiver_did": "did:hansa:x", "amount": "1"},
        {"kind": "payment", "receiver_did": "did:hansa:x", "amount": "0"},
    ],
)
async def test_a_request_that_is_none_is_refused(guild, body):
    assert (await guild.send(guild.owner, "POST", "/treasury/requests", json=body)).status_code == 422
