"""Use of governed settings: a value is in force from its moment on, and acts that have begun keep their terms (Specification 7 Z)."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from hansa.foundation.plumbing import parameters
from hansa.foundation.values.money import parse_amount
from tests.governed_values import changed, time_passed
from tests.paying import Payments
from tests.registry import StartRegistry, TestAgent, TestRegistry
from tests.rooms.commerce.agreements import Agreements, in_days
from tests.rooms.commerce.disputing import Disputing
from tests.rooms.ledger.purses import Purses
from tests.rooms.ledger.staking.stakers import ROLES
from tests.running_jobs import run_due, time_passes

FEE = "fee_base_rate_percent"
HOUR = timedelta(hours=1)


async def change(registry: TestRegistry, by: str = "proposal:1", **changes: tuple[Any, Any]) -> None:
    await changed(registry.database, registry.settings, changes, by)


async def fee_of(payer: TestAgent, payee: TestAgent, amount: str) -> str:
    answer = await payer.transfer(payee, amount)
    assert answer.status_code == 200, answer.text
    return answer.json()["fee_amount"]


async def answered(registry: TestRegistry, path: str, agent: TestAgent | None = None) -> Any:
    answer = await registry.get(path, headers=agent.headers if agent else {})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def agreements_in(registry: TestRegistry) -> Agreements:
    return Agreements(Purses(registry, await registry.developer()), await registry.developer())


async def disputing(registry: TestRegistry) -> Disputing:
    return Disputing(await agreements_in(registry), await registry.administrator())


def span(later: str, earlier: str) -> timedelta:
    return datetime.fromisoformat(later) - datetime.fromisoformat(earlier)


async def test_transfers_pay_the_governed_rate_and_the_base_rate_still_applies_up_to_one_turnover(
    registry: TestRegistry,
):
    payer, payee = await registry.agent(), await registry.agent()
    assert await fee_of(payer, payee, "10") == "0.05"
    await change(registry, **{FEE: ("0.5", "2")})
    assert await fee_of(payer, payee, "10") == "0.2"
    assert (await answered(registry, "/teg/fees/config"))["base_rate_percent"] == "2"
    await registry.database.transaction(lambda tx: parameters.reset(tx, registry.settings, FEE, "reset:1"))
    await time_passed(registry.database)
    assert await fee_of(payer, payee, "10") == "0.05"


async def test_a_payer_with_a_high_velocity_pays_toward_the_governed_maximum(registry: TestRegistry):
    payer, payee = await registry.agent(), await registry.agent()
    await change(registry, **{FEE: ("0.5", "1"), "fee_max_rate_percent": ("5", "1.9")})
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE ledger_account SET pace = ARRAY[(extract(epoch FROM now()) / 60)::int - 1, 100000000000, 10000000000]"
            " WHERE did = $1",
            payer.did,
        )
    )
    # Ten turnovers in the hour: the maximum.
    assert await fee_of(payer, payee, "10") == "0.19"


async def test_a_rate_with_many_digits_is_exact_for_the_largest_amounts(registry: TestRegistry):
    payer, payee = await registry.agent(), await registry.agent()
    await change(registry, **{FEE: ("0.5", "1.999999")})
    held = parse_amount("9000000000")
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE ledger_account SET liquid = $2 WHERE did = $1", payer.did, held)
    )
    assert Decimal(await fee_of(payer, payee, "8000000000")) == Decimal(8000000000) * Decimal("0.01999999")


async def test_no_fee_is_taken_where_governance_has_set_none(registry: TestRegistry):
    payer, payee = await registry.agent(), await registry.agent()
    await change(registry, **{FEE: ("0.5", "0")})
    assert await fee_of(payer, payee, "10") == "0"


async def test_a_hold_that_is_open_keeps_its_fee(registry: TestRegistry):
    payments = await Payments.between_two(registry)
    token = await payments.authorized("10", reserve=True)
    await change(registry, **{FEE: ("0.5", "2")})
    settled = await payments.settle(token["token"])
    assert settled.status_code == 200, settled.text
    assert await payments.balances() == ("89.95", "110")


async def test_a_firm_quote_keeps_its_fee_and_a_later_one_has_the_governed_rate(registry: TestRegistry):
    payments = await Payments.between_two(registry)

    async def quoted() -> Any:
        query = f"target_agent_did={payments.service.did}&amount=10&firm=true"
        return await answered(registry, f"/a2a-payment/quote?{query}", payments.caller)

    first = await quoted()
    await change(registry, **{FEE: ("0.5", "2")})
    assert (first["fee"], (await quoted())["fee"]) == ("0.05", "0.2")
    token = await payments.authorized("10", quote_token=first["quote_token"])
    assert (await payments.settle(token["token"])).status_code == 200
    assert await payments.balances() == ("89.95", "110")


async def test_an_authorization_needs_the_fee_at_the_governed_rate(registry: TestRegistry):
    payments = await Payments.between_two(registry)
    await change(registry, **{FEE: ("0.5", "2"), "fee_max_rate_percent": ("5", "10")})
    # The genesis grant is 100.
    assert (await payments.ask("98.5")).status_code == 402
    assert (await payments.ask("98")).status_code == 200


async def test_stakes_follow_the_governed_minimum_and_rewards_the_governed_switch(
    start_registry: StartRegistry,
):
    registry = await start_registry(agent_rbac_default_roles=ROLES)
    agent = await registry.agent()
    await change(registry, staking_min_stake_amount=("10", "20"), staking_rewards_enabled=(False, True))

    async def staked(amount: str) -> int:
        body = {"amount": amount, "lock_period": 1}
        return (await registry.post("/staking/stake", json=body, headers=agent.headers)).status_code

    assert await staked("19") == 422
    assert await staked("20") == 200
    shown = await answered(registry, "/staking/status", agent)
    assert (shown["minimum_stake"], shown["rewards_enabled"]) == ("20", True)
    assert (await answered(registry, "/public/registry-config"))["staking_rewards_enabled"] is True
    claimed = await registry.post("/staking/claim-rewards", headers=agent.headers)
    assert claimed.status_code == 200, claimed.text


async def test_a_bond_needs_the_governed_minimum_and_matures_after_the_governed_time(registry: TestRegistry):
    agent = await registry.agent()
    await change(registry, bond_minimum=("100", "40"), bond_maturity_days=(14, 30))
    at = f"/agents/{agent.did}/reputation-bond"

    async def deposit(amount: str) -> Any:
        return await registry.post(f"{at}/deposit", json={"amount": amount}, headers=agent.headers)

    assert (await deposit("39")).status_code == 422
    made = await deposit("40")
    assert made.status_code == 200, made.text
    matures_at = datetime.fromisoformat(made.json()["matures_at"])
    assert (
        timedelta(days=30) - HOUR < matures_at - datetime.now(matures_at.tzinfo) < timedelta(days=30) + HOUR
    )
    config = await answered(registry, "/reputation-bond/config")
    assert (config["minimum"], config["maturity_days"]) == ("40", 30)


async def test_a_bond_in_release_waits_for_every_window_that_has_begun(registry: TestRegistry):
    agent = await registry.agent()
    await change(registry, "proposal:1", dispute_window_hours=(72, 720), bond_maturity_days=(14, 1))
    at = f"/agents/{agent.did}/reputation-bond"
    deposit = await registry.post(f"{at}/deposit", json={"amount": "100"}, headers=agent.headers)
    assert deposit.status_code == 200, deposit.text
    # Payments of a minute ago may be disputed for 720 hours, later ones for 24.
    await change(registry, "proposal:2", dispute_window_hours=(720, 24))
    released = await registry.post(f"{at}/release", headers=agent.headers)
    assert released.status_code == 200, released.text
    releasable_at = datetime.fromisoformat(released.json()["releasable_at"])
    left = releasable_at - datetime.now(releasable_at.tzinfo)
    assert 719 * HOUR < left < 720 * HOUR


async def test_a_dispute_has_the_windows_of_its_filing(registry: TestRegistry):
    payer, payee = await registry.agent(), await registry.agent()
    disputes = await disputing(registry)

    async def filed() -> Any:
        paid = (await payer.transfer(payee, "5")).json()["transaction_id"]
        return await disputes.file(payer, payee, transaction_id=paid)

    def windows(dispute: Any) -> tuple[timedelta, timedelta]:
        return span(dispute["evidence_until"], dispute["opened_at"]), span(
            dispute["rule_by"], dispute["opened_at"]
        )

    first = await filed()
    assert windows(first) == (72 * HOUR, timedelta(days=30))
    await change(registry, dispute_evidence_hours=(72, 24), dispute_ruling_days=(30, 7))
    assert windows(await filed()) == (24 * HOUR, timedelta(days=7))
    assert windows((await disputes.read(payer, first)).json()) == windows(first)


async def test_a_payment_is_disputed_within_the_window_of_its_end(registry: TestRegistry):
    payments = await Payments.between_two(registry)
    disputes = await disputing(registry)
    paid = [await payments.authorized("5") for _ in range(3)]
    for token in paid:
        assert (await payments.settle(token["token"])).status_code == 200

    async def hours_pass(token: Any, hours: int) -> None:
        moved = (
            "UPDATE commerce_payment_token SET created_at = created_at - $2::interval,"
            " ended_at = ended_at - $2::interval, expires_at = expires_at - $2::interval WHERE id = $1"
        )
        await registry.database.transaction(lambda tx: tx.execute(moved, token["token_id"], hours * HOUR))

    async def filed(token: Any) -> int:
        given = {"token_id": token["token_id"]}
        return (await disputes.try_file(payments.caller, payments.service, **given)).status_code

    # The window has been 24 hours for 40 hours: the last payment ended after that, the others before.
    await change(registry, dispute_window_hours=(72, 24))
    for token, hours in zip(paid, (60, 73, 25), strict=True):
        await hours_pass(token, hours)
    await time_passed(registry.database, 40 * HOUR)
    assert [await filed(token) for token in paid] == [201, 409, 409]


async def test_a_contract_keeps_the_window_of_its_acceptance(registry: TestRegistry):
    agreements = await agreements_in(registry)
    alice, bob = await agreements.contractor(), await agreements.provider()

    def left(contract: Any) -> timedelta:
        release_at = datetime.fromisoformat(contract["hold_release_at"])
        return release_at - datetime.now(release_at.tzinfo)

    dates = {"submit_by": in_days(2), "review_by": in_days(4)}
    submitted = await agreements.submitted(alice, bob, funded=True, **dates)
    await change(registry, dispute_window_hours=(72, 720))
    failed = await agreements.act(alice, submitted, "mark-failed", reason="Late.")
    assert 71 * HOUR < left(failed) < 73 * HOUR
    later = await agreements.submitted(alice, bob, funded=True, **dates)
    failed = await agreements.act(alice, later, "mark-failed", reason="Late.")
    assert 719 * HOUR < left(failed) < 721 * HOUR


async def test_peer_trust_shows_the_governed_thresholds(registry: TestRegistry):
    await change(registry, peer_trust_warn_below=("0.7", "0.8"), peer_trust_min_interactions=(10, 3))
    thresholds = (await answered(registry, "/federation/peer-trust"))["thresholds"]
    assert (thresholds["warn_below"], thresholds["min_interactions"]) == (0.8, 3)


async def test_the_registry_card_is_signed_anew_when_a_value_that_it_states_takes_effect(
    registry: TestRegistry,
):
    async def card() -> Any:
        return (await registry.http.get("/.well-known/registry-card.json")).json()

    before = await card()
    await change(registry, **{FEE: ("0.5", "1.25")}, dispute_window_hours=(72, 100))
    assert await card() == before
    await time_passes(registry.runtime, 120)
    await run_due(registry.runtime, parameters.EFFECTS)
    after = await card()
    assert after["fees"]["intra_registry"]["base_rate_percent"] == 1.25
    assert after["policy"]["dispute_window_hours"] == 100
    assert after["signature"]["signed_at"] >= before["signature"]["signed_at"]
    assert after["lifecycle"]["card_etag"] != before["lifecycle"]["card_etag"]


async def test_x402_states_the_governed_rates(registry: TestRegistry):
    await change(registry, **{FEE: ("0.5", "1")})
    for kind in ((await registry.http.get("/x402/supported")).json())["kinds"]:
        assert (kind["extra"]["fee"]["rate"], kind["extra"]["fee"]["maxRate"]) == (0.01, 0.05)
