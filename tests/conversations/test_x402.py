"""x402, version 2: payments with a wallet and with a payment token, verified and settled by the registry."""

import asyncio
from collections.abc import AsyncIterator, Callable
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from hansa.foundation.values.errors import Unavailable
from hansa.rooms import ledger
from hansa.rooms.commerce import payments
from hansa.rooms.commerce.x402.networks import Networks
from tests.registry import DatabaseFarm, TestAgent
from tests.rooms.ledger.purses import Purses, open_purses
from tests.wallets import TestWallet, high_s, receive_address, required, signed, with_payload

UNIT = 10**8
NO_ONE = "0x" + "11" * 20


@pytest.fixture(scope="module")
async def open_registry_here(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Purses]:
    async with open_purses(database_farm, tmp_path_factory.mktemp("x402")) as purses:
        yield purses


@pytest.fixture
async def purses(open_registry_here: Purses) -> AsyncIterator[Purses]:
    """No unit is made or lost in any conversation."""
    yield open_registry_here
    await open_registry_here.prove()


@pytest.fixture(scope="module")
def networks(open_registry_here: Purses) -> Networks:
    return Networks.of(open_registry_here.registry.settings)


@pytest.fixture
async def payer(purses: Purses) -> TestAgent:
    return await purses.agent("100")


@pytest.fixture
async def payee(purses: Purses) -> TestAgent:
    return await purses.agent()


@pytest.fixture
async def wallet(payer: TestAgent) -> TestWallet:
    wallet = TestWallet()
    assert (await wallet.bind(payer)).status_code == 200
    return wallet


@pytest.fixture(scope="module")
async def refused_payer(open_registry_here: Purses) -> TestAgent:
    """An agent with 100 units; each of its payments is refused."""
    return await open_registry_here.agent("100")


@pytest.fixture(scope="module")
async def unpaid(open_registry_here: Purses) -> TestAgent:
    """The payee of those payments."""
    return await open_registry_here.agent()


@pytest.fixture(scope="module")
async def refused_wallet(refused_payer: TestAgent) -> TestWallet:
    wallet = TestWallet()
    assert (await wallet.bind(refused_payer)).status_code == 200
    return wallet


async def ask(purses: Purses, route: str, body: object) -> dict[str, Any]:
    answer = await purses.registry.http.post(f"/x402/{route}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def refused(purses: Purses, body: object) -> str:
    """Why verify and settle refuse a payment, which is the same reason."""
    verified, settled = await ask(purses, "verify", body), await ask(purses, "settle", body)
    assert (verified["isValid"], settled["success"], settled["transaction"]) == (False, False, "")
    assert verified["invalidReason"] == settled["errorReason"]
    assert verified["invalidMessage"] == settled["errorMessage"]
    return settled["errorReason"]


async def test_both_networks_are_supported(purses: Purses, networks: Networks) -> None:
    answer = await purses.registry.http.get("/x402/supported")
    kinds = {kind["network"]: kind for kind in answer.json()["kinds"]}
    assert set(kinds) == {networks.wallet, networks.native}
    assert all((kind["scheme"], kind["x402Version"]) == ("exact", 2) for kind in kinds.values())
    assert kinds[networks.wallet]["extra"]["name"] == networks.domain_name
    assert kinds[networks.native]["extra"]["authority"] == purses.registry.settings.base_url
    assert networks.native.startswith("hansa:")
    assert len(networks.native) == len("hansa:") + 32
    assert networks.chain_id.bit_length() == 48


def test_the_names_of_the_networks_follow_from_the_ledger_id_for_ever() -> None:
    networks = Networks("a.example", "AVT", "http://x", ledger.FeePolicy())
    assert networks.wallet == "eip155:212482868970737"
    assert networks.native == "hansa:b8e7453371a024daae06f3164492c0af"


def test_the_networks_of_two_registries_differ() -> None:
    one, other = (
        Networks(name, "AVT", "http://x", ledger.FeePolicy()) for name in ("a.example", "b.example")
    )
    assert one.native != other.native
    assert one.chain_id != other.chain_id
    assert one.domain != other.domain


async def test_a_signed_authorization_is_verified_and_settled(
    purses: Purses, networks: Networks, payer: TestAgent, payee: TestAgent, wallet: TestWallet
) -> None:
    body = signed(wallet, networks, required(networks, await receive_address(payee)))
    verified = await ask(purses, "verify", body)
    assert verified == {"isValid": True, "payer": wallet.address, "extra": {"fee": "5000000"}}
    assert await payer.balance() == "100"
    settled = await ask(purses, "settle", body)
    assert settled.pop("transaction").startswith("tx-")
    assert settled["extra"].pop("payment").startswith("0x")
    assert settled == {
        "success": True,
        "payer": wallet.address,
        "network": networks.wallet,
        "amount": "1000000000",
        "extra": {"fee": "5000000"},
    }
    assert (await payer.balance(), await payee.balance()) == ("89.95", "10")


async def test_each_settlement_has_a_payment_token(
    purses: Purses, networks: Networks, payer: TestAgent, payee: TestAgent, wallet: TestWallet
) -> None:
    body = signed(wallet, networks, required(networks, await receive_address(payee)))
    transaction = (await ask(purses, "settle", body))["transaction"]
    answer = await purses.registry.get("/a2a-payment/my-tokens", headers=payer.headers)
    (token,) = answer.json()
    assert (token["status"], token["amount"], token["target_agent_did"]) == ("settled", "10", payee.did)
    assert token["settlement_tx_id"] == transaction


async def test_a_payee_is_paid_by_the_address_of_its_wallet(
    purses: Purses, networks: Networks, payee: TestAgent, wallet: TestWallet
) -> None:
    own = TestWallet()
    await own.bind(payee)
    body = signed(wallet, networks, required(networks, own.address))
    assert (await ask(purses, "settle", body))["success"] is True
    assert await payee.balance() == "10"


async def test_the_same_payload_again_returns_the_first_outcome(
    purses: Purses, networks: Networks, payer: TestAgent, payee: TestAgent, wallet: TestWallet
) -> None:
    body = signed(wallet, networks, required(networks, await receive_address(payee)))
    first = await ask(purses, "settle", body)
    assert await ask(purses, "settle", body) == first
    assert await payer.balance() == "89.95"
    await purses.registry.http.delete(f"/api/v1/agents/me/wallets/{wallet.address}", headers=payer.headers)
    assert await ask(purses, "settle", body) == first


async def test_a_verification_after_the_settlement_finds_the_nonce_used(
    purses: Purses, networks: Networks, payee: TestAgent, wallet: TestWallet
) -> None:
    body = signed(wallet, networks, required(networks, await receive_address(payee)))
    await ask(purses, "settle", body)
    verified = await ask(purses, "verify", body)
    assert verified["invalidReason"] == "invalid_exact_evm_nonce_already_used"


async def test_another_payload_with_the_same_nonce_is_refused(
    purses: Purses, networks: Networks, payer: TestAgent, payee: TestAgent, wallet: TestWallet
) -> None:
    terms = required(networks, await receive_address(payee))
    body = signed(wallet, networks, terms)
    await ask(purses, "settle", body)
    nonce = body["paymentPayload"]["payload"]["authorization"]["nonce"]
    twin = signed(wallet, networks, {**terms, "amount": "1"}, nonce=nonce)
    assert await refused(purses, twin) == "invalid_exact_evm_nonce_already_used"
    assert await payer.balance() == "89.95"


async def test_a_hundred_settlements_of_one_payload_pay_once(
    purses: Purses, networks: Networks, payer: TestAgent, payee: TestAgent, wallet: TestWallet
) -> None:
    body = signed(wallet, networks, required(networks, await receive_address(payee)))
    outcomes = await asyncio.gather(*[ask(purses, "settle", body) for _ in range(100)])
    settled = [outcome for outcome in outcomes if outcome["success"]]
    assert settled
    assert all(outcome == settled[0] for outcome in settled)
    assert {one["errorReason"] for one in outcomes if not one["success"]} <= {"settlement_pending"}
    assert await ask(purses, "settle", body) == settled[0]
    assert (await payer.balance(), await payee.balance()) == ("89.95", "10")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"value": "1"}, "invalid_exact_evm_payload_authorization_value_mismatch"),
        ({"value": str(11 * UNIT)}, "invalid_exact_evm_payload_authorization_value_mismatch"),
        ({"to": NO_ONE}, "invalid_exact_evm_payload_recipient_mismatch"),
        ({"validAfter": str(2**40)}, "invalid_exact_evm_payload_authorization_valid_after"),
        ({"validBefore": "1700000000"}, "invalid_exact_evm_payload_authorization_valid_before"),
        ({"chain": 8453}, "invalid_exact_evm_payload_signature"),
        ({"validBefore": str(2**256)}, "invalid_payload"),
        ({"nonce": "0x" + "00" * 31}, "invalid_payload"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_each_deviation_has_an_error_code_of_its_own(
    open_registry_here: Purses,
    networks: Networks,
    *,
    refused_payer: TestAgent,
    unpaid: TestAgent,
    refused_wallet: TestWallet,
    change: dict[str, Any],
    reason: str,
) -> None:
    terms = required(networks, await receive_address(unpaid))
    if reason == "invalid_payload":
        body = signed(refused_wallet, networks, terms)
        body["paymentPayload"]["payload"]["authorization"].update(change)
    else:
        body = signed(refused_wallet, networks, terms, **change)
    assert await refused(open_registry_here, body) == reason
    assert await refused_payer.balance() == "100"


async def test_the_window_is_open_after_its_first_second_and_closed_at_its_last(
    purses: Purses, networks: Networks, payee: TestAgent, wallet: TestWallet
) -> None:
    now = await purses.registry.database.read(
        lambda tx: tx.fetchval("SELECT floor(extract(epoch FROM clock_timestamp()))::bigint")
    )
    terms = required(networks, await receive_address(payee))
    late = signed(wallet, networks, terms, validBefore=str(now))
    assert await refused(purses, late) == "invalid_exact_evm_payload_authorization_valid_before"
    early = signed(wallet, networks, terms, validAfter=str(now + 60))
    assert await refused(purses, early) == "invalid_exact_evm_payload_authorization_valid_after"
    assert (await ask(purses, "settle", signed(wallet, networks, terms, validAfter=str(now - 1))))["success"]


async def test_a_high_s_is_refused(
    purses: Purses, networks: Networks, payee: TestAgent, wallet: TestWallet
) -> None:
    body = signed(wallet, networks, required(networks, await receive_address(payee)))
    inner = body["paymentPayload"]["payload"]
    inner["signature"] = "0x" + high_s(bytes.fromhex(inner["signature"][2:])).hex()
    assert await refused(purses, body) == "invalid_exact_evm_payload_signature"


async def test_the_signature_of_another_wallet_is_refused(
    purses: Purses, networks: Networks, payee: TestAgent, wallet: TestWallet
) -> None:
    terms = required(networks, await receive_address(payee))
    stranger = TestWallet()
    forged = signed(stranger, networks, terms, **{"from": wallet.address})
    assert await refused(purses, forged) == "invalid_exact_evm_payload_signature"
    unbound = signed(stranger, networks, terms)
    assert await refused(purses, unbound) == "invalid_exact_evm_payload_signature"


async def test_an_unbound_wallet_pays_no_more(
    purses: Purses, networks: Networks, payer: TestAgent, payee: TestAgent, wallet: TestWallet
) -> None:
    body = signed(wallet, networks, required(networks, await receive_address(payee)))
    await purses.registry.http.delete(f"/api/v1/agents/me/wallets/{wallet.address}", headers=payer.headers)
    assert await refused(purses, body) == "invalid_exact_evm_payload_signature"


async def test_a_payer_without_funds_is_refused_and_can_settle_later(
    purses: Purses, networks: Networks, payer: TestAgent, payee: TestAgent, wallet: TestWallet
) -> None:
    body = signed(wallet, networks, required(networks, await receive_address(payee), 100 * UNIT))
    assert await refused(purses, body) == "insufficient_funds"
    await purses.grant(payer, "1")
    assert (await ask(purses, "settle", body))["success"] is True
    assert await payer.balance() == "0.5"


async def test_an_address_of_no_agent_is_no_payee(
    purses: Purses, networks: Networks, wallet: TestWallet
) -> None:
    body = signed(wallet, networks, required(networks, NO_ONE))
    assert await refused(purses, body) == "invalid_payment_requirements"


async def test_an_agent_does_not_pay_itself(
    purses: Purses, networks: Networks, payer: TestAgent, wallet: TestWallet
) -> None:
    body = signed(wallet, networks, required(networks, await receive_address(payer)))
    settled = await ask(purses, "settle", body)
    assert (settled["success"], settled["transaction"]) == (False, "")
    assert (await ask(purses, "verify", body))["isValid"] is False
    assert await payer.balance() == "100"


async def test_a_spend_policy_bounds_what_a_wallet_pays(
    purses: Purses, networks: Networks, payer: TestAgent, payee: TestAgent, wallet: TestWallet
) -> None:
    path = f"/api/v1/agents/{payer.did}/authz"
    policy = {"spend_policy": {"per_tx_max": "20", "approval_over": "5"}}
    await purses.registry.http.put(path, json=policy, headers=purses.developer.headers)
    pay_to = await receive_address(payee)
    over = signed(wallet, networks, required(networks, pay_to, 21 * UNIT))
    assert await refused(purses, over) == "spend_over_per_tx_max"
    body = signed(wallet, networks, required(networks, pay_to))
    assert await refused(purses, body) == "spend_approval_required"
    own = f"/agents/{payer.did}/spend-approvals"
    waiting = (await purses.registry.get(own, headers=purses.developer.headers)).json()["items"]
    assert [(one["amount"], one["status"]) for one in waiting] == [("10", "pending")]
    approval = waiting[0].get("approval_id") or waiting[0]["id"]
    await purses.registry.post(f"{own}/{approval}/approve", headers=purses.developer.headers)
    assert (await ask(purses, "settle", body))["success"] is True
    assert await payee.balance() == "10"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"scheme": "upto"}, "unsupported_scheme"),
        ({"network": "eip155:8453"}, "invalid_network"),
        ({"network": "hansa:" + "0" * 32}, "invalid_network"),
        ({"network": None}, "invalid_network"),
        ({"network": []}, "invalid_network"),
        ({"asset": NO_ONE}, "invalid_payment_requirements"),
        ({"asset": 5}, "invalid_payment_requirements"),
        ({"amount": "0"}, "invalid_payment_requirements"),
        ({"amount": "-1"}, "invalid_payment_requirements"),
        ({"amount": "1.5"}, "invalid_payment_requirements"),
        ({"amount": 10}, "invalid_payment_requirements"),
        ({"amount": "9" * 78}, "invalid_payment_requirements"),
        ({"amount": "9" * 10_000}, "invalid_payment_requirements"),
        ({"payTo": None}, "invalid_payment_requirements"),
        ({"extra": {"name": "USD Coin"}}, "invalid_exact_evm_token_name_mismatch"),
        ({"extra": {"version": "2"}}, "invalid_exact_evm_token_version_mismatch"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_requirements_that_are_not_of_this_registry_are_refused(
    open_registry_here: Purses,
    networks: Networks,
    unpaid: TestAgent,
    refused_wallet: TestWallet,
    *,
    change: dict[str, Any],
    reason: str,
) -> None:
    body = signed(refused_wallet, networks, required(networks, await receive_address(unpaid)))
    changed = {**body["paymentRequirements"], **change}
    body["paymentRequirements"] = body["paymentPayload"]["accepted"] = changed
    assert await refused(open_registry_here, body) == reason


async def test_another_accepted_network_is_refused(
    open_registry_here: Purses, networks: Networks, unpaid: TestAgent, refused_wallet: TestWallet
) -> None:
    body = signed(refused_wallet, networks, required(networks, await receive_address(unpaid)))
    body["paymentPayload"]["accepted"] = {**body["paymentRequirements"], "network": networks.native}
    assert await refused(open_registry_here, body) == "network_mismatch"


@pytest.mark.parametrize("version", [0, 1, 3, 10**30])
async def test_another_version_is_refused(
    open_registry_here: Purses,
    networks: Networks,
    unpaid: TestAgent,
    refused_wallet: TestWallet,
    version: int,
) -> None:
    body = signed(refused_wallet, networks, required(networks, await receive_address(unpaid)))
    assert await refused(open_registry_here, {**body, "x402Version": version}) == "invalid_x402_version"


@pytest.mark.parametrize(
    "payload",
    [
        None,
        "",
        [],
        {},
        {"authorization": None, "signature": "0x"},
        {"authorization": {}, "signature": "0x"},
        {"authorization": {"from": 1}, "signature": 2},
        {"permit2Authorization": {}, "signature": "0x"},
        {"token": "x", "issuer": "y"},
        {"authorization": {"from": "0x" + "٠" * 40}, "signature": "0x" + "0" * 100_000},
    ],
    ids=lambda payload: str(payload)[:40],
)
async def test_a_payload_of_the_wrong_shape_is_refused(
    open_registry_here: Purses, networks: Networks, unpaid: TestAgent, payload: object
) -> None:
    body = with_payload(required(networks, await receive_address(unpaid)), payload)
    assert await refused(open_registry_here, body) == "invalid_payload"


@pytest.mark.parametrize(
    "body",
    [None, [], {}, {"x402Version": 2}, {"x402Version": "2", "paymentPayload": {}, "paymentRequirements": {}}]
    + [
        {"x402Version": 2, "paymentPayload": wrong, "paymentRequirements": {}} for wrong in (None, [], "x", 5)
    ],
    ids=lambda body: str(body)[:60],
)
@pytest.mark.parametrize("route", ["verify", "settle"])
async def test_a_body_of_the_wrong_shape_is_a_422(
    open_registry_here: Purses, route: str, body: object
) -> None:
    answer: httpx2.Response = await open_registry_here.registry.http.post(f"/x402/{route}", json=body)
    assert answer.status_code == 422
    assert answer.json()["error"]["detail"]


async def test_a_body_of_ten_megabytes_is_refused(purses: Purses, networks: Networks) -> None:
    body = with_payload(required(networks, NO_ONE), {"signature": "0x" + "0" * 10_000_000})
    answer = await purses.registry.http.post("/x402/settle", json=body)
    assert answer.status_code == 413


# Native: a payment token that its payee captures.


async def token_of(payer: TestAgent, payee: TestAgent, amount: str = "10", **more: Any) -> dict[str, Any]:
    body = {"target_agent_did": payee.did, "amount": amount, "capture_by": "payee", **more}
    answer = await payer.registry.post("/a2a-payment/authorize", json=body, headers=payer.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def native(
    networks: Networks, payee: str, token: object, minor: object = 10 * UNIT, **inner: Any
) -> dict[str, Any]:
    terms = {
        "scheme": "exact",
        "network": networks.native,
        "amount": str(minor),
        "asset": networks.currency,
        "payTo": payee,
        "maxTimeoutSeconds": 60,
    }
    return with_payload(terms, {"token": token, "issuer": networks.authority, **inner})


async def test_a_payment_token_is_verified_and_captured(
    purses: Purses, networks: Networks, payer: TestAgent, payee: TestAgent
) -> None:
    made = await token_of(payer, payee)
    body = native(networks, payee.did, made["token"])
    assert await ask(purses, "verify", body) == {"isValid": True, "payer": payer.did}
    settled = await ask(purses, "settle", body)
    assert settled.pop("transaction").startswith("tx-")
    assert settled["extra"].pop("payment") == made["token_id"]
    assert settled == {
        "success": True,
        "payer": payer.did,
        "network": networks.native,
        "amount": "1000000000",
        "extra": {"fee": "5000000"},
    }
    assert (await payer.balance(), await payee.balance()) == ("89.95", "10")


async def test_a_verified_token_cannot_be_released_by_its_caller(
    purses: Purses, networks: Networks, payer: TestAgent, payee: TestAgent
) -> None:
    made = await token_of(payer, payee)
    body = native(networks, payee.did, made["token"])
    await ask(purses, "verify", body)
    answer = await purses.registry.post(
        "/a2a-payment/release", json={"token": made["token"]}, headers=payer.headers
    )
    assert answer.status_code in {400, 403}
    assert (await ask(purses, "settle", body))["success"] is True


async def test_a_token_is_captured_for_less_than_its_amount_and_once(
    purses: Purses, networks: Networks, payer: TestAgent, payee: TestAgent
) -> None:
    made = await token_of(payer, payee)
    body = native(networks, payee.did, made["token"], 4 * UNIT)
    assert (await ask(purses, "verify", body))["isValid"] is True
    first = await ask(purses, "settle", body)
    assert (first["success"], first["amount"]) == (True, "400000000")
    assert await ask(purses, "settle", body) == first
    other = native(networks, payee.did, made["token"], 5 * UNIT)
    assert (await ask(purses, "settle", other))["errorReason"] == "invalid_exact_hansa_token_status"
    assert (await payer.balance(), await payee.balance()) == ("95.98", "4")


AMOUNT_MISMATCH = "invalid_exact_hansa_payload_amount_mismatch"


async def test_a_payer_captures_no_part_of_its_token_that_the_service_did_not_ask_for(
    purses: Purses, networks: Networks, payer: TestAgent, payee: TestAgent
) -> None:
    """The payer has the token as well: it could settle it for the least amount while the service works."""
    least, whole = (part_of(minor, networks, payee) for minor in (1, 10 * UNIT))
    for asks_here in (True, False):
        token = (await token_of(payer, payee))["token"]
        if asks_here:
            assert (await ask(purses, "verify", whole(token)))["isValid"] is True
        else:
            assert (await verified_by_a_service(purses, payee, token))["valid"] is True
        refused_part = await ask(purses, "settle", least(token))
        assert (refused_part["success"], refused_part["errorReason"]) == (False, AMOUNT_MISMATCH)
        assert (await ask(purses, "settle", whole(token)))["amount"] == str(10 * UNIT)
    # A part that nobody asked for is not captured, whether or not the token is used meanwhile.
    unused = (await token_of(payer, payee))["token"]
    assert (await ask(purses, "settle", least(unused)))["errorReason"] == AMOUNT_MISMATCH
    assert await payee.balance() == "20"


async def test_a_token_that_was_verified_for_a_part_is_good_for_nothing_else(
    purses: Purses, networks: Networks, payer: TestAgent, payee: TestAgent
) -> None:
    least, whole = (part_of(minor, networks, payee) for minor in (1, 10 * UNIT))
    token = (await token_of(payer, payee))["token"]
    assert (await ask(purses, "verify", least(token)))["isValid"] is True
    assert (await ask(purses, "verify", least(token)))["isValid"] is True
    other = await ask(purses, "verify", whole(token))
    assert (other["isValid"], other["invalidReason"]) == (False, AMOUNT_MISMATCH)
    by_a_service = await verified_by_a_service(purses, payee, token)
    assert (by_a_service["valid"], by_a_service["error"]) == (
        False,
        "Token verified for a part of its amount",
    )
    # A service that was shown it first is paid the whole.
    token = (await token_of(payer, payee))["token"]
    assert (await verified_by_a_service(purses, payee, token))["valid"] is True
    assert (await ask(purses, "verify", least(token)))["invalidReason"] == AMOUNT_MISMATCH
    assert (await ask(purses, "verify", whole(token)))["isValid"] is True


def part_of(minor: int, networks: Networks, payee: TestAgent) -> Callable[[str], dict[str, Any]]:
    return lambda token: native(networks, payee.did, token, minor)


async def verified_by_a_service(purses: Purses, payee: TestAgent, token: str) -> dict[str, Any]:
    body = {"token": token, "target_agent_did": payee.did, "use_id": "service.1"}
    answer = await purses.registry.post("/a2a-payment/verify", json=body)
    found: dict[str, Any] = answer.json()
    return found


async def test_a_hundred_settlements_of_one_token_pay_once(
    purses: Purses, networks: Networks, payer: TestAgent, payee: TestAgent
) -> None:
    made = await token_of(payer, payee)
    body = native(networks, payee.did, made["token"])
    outcomes = await asyncio.gather(*[ask(purses, "settle", body) for _ in range(100)])
    assert {(one["success"], one.get("errorReason")) for one in outcomes} <= {
        (True, None),
        (False, "settlement_pending"),
    }
    assert (await ask(purses, "settle", body))["success"] is True
    assert (await payer.balance(), await payee.balance()) == ("89.95", "10")


@pytest.mark.parametrize("rivals", [("part", "whole"), ("part", "other part"), ("whole", "by credential")])
async def test_of_settlements_of_one_token_for_different_parts_at_once_one_is_carried_out(
    purses: Purses, networks: Networks, payer: TestAgent, payee: TestAgent, rivals: tuple[str, str]
) -> None:
    parts = {"part": 4, "other part": 7, "whole": 10, "by credential": 3}

    async def settle(token: str, rival: str) -> tuple[bool, str | None]:
        if rival == "by credential":
            answer = await purses.registry.post(
                "/a2a-payment/settle",
                json={"token": token, "capture_amount": str(parts[rival])},
                headers={**payee.headers, "Prefer": "wait=30"},
            )
            # It returns the token as it was settled, also by another one: what counts is the amount.
            return Decimal(answer.json()["amount"]) == parts[rival], None
        body = native(networks, payee.did, token, parts[rival] * UNIT)
        if rival != "whole":
            await ask(purses, "verify", body)
        outcome = await ask(purses, "settle", body)
        return outcome["success"], outcome.get("errorReason")

    paid = 0
    for _ in range(6):
        token = (await token_of(payer, payee))["token"]
        outcomes = await asyncio.gather(*(settle(token, rival) for rival in rivals))
        assert sum(is_settled for is_settled, _ in outcomes) == 1, outcomes
        refusals = {reason for is_settled, reason in outcomes if not is_settled}
        assert refusals <= {AMOUNT_MISMATCH, "invalid_exact_hansa_token_status", None}
        paid += next(
            parts[rival] for rival, (is_settled, _) in zip(rivals, outcomes, strict=True) if is_settled
        )
        assert await payee.balance() == str(paid)
        # What was carried out is returned again, and nothing else.
        again = [await settle(token, rival) for rival in rivals if rival != "by credential"]
        assert [is_settled for is_settled, _ in again] == [
            is_settled
            for rival, (is_settled, _) in zip(rivals, outcomes, strict=True)
            if rival != "by credential"
        ]
        assert await payee.balance() == str(paid)


async def test_only_a_token_that_its_payee_captures_is_settled(
    purses: Purses, networks: Networks, payer: TestAgent, payee: TestAgent
) -> None:
    made = await token_of(payer, payee, capture_by="caller")
    assert await refused(purses, native(networks, payee.did, made["token"])) == "capture_not_allowed"


async def test_a_token_of_another_registry_is_refused(
    purses: Purses, networks: Networks, payer: TestAgent, payee: TestAgent
) -> None:
    made = await token_of(payer, payee)
    body = native(networks, payee.did, made["token"], issuer="https://other.example.org")
    assert await refused(purses, body) == "unsupported_issuer"
    assert (await payer.balance(), await payee.balance()) == ("89.95", "0")


async def test_a_token_for_another_payee_or_amount_is_refused(
    purses: Purses, networks: Networks, payer: TestAgent, payee: TestAgent
) -> None:
    made = await token_of(payer, payee)
    other = await purses.agent()
    assert (
        await refused(purses, native(networks, other.did, made["token"]))
        == "invalid_exact_hansa_payload_recipient_mismatch"
    )
    assert (
        await refused(purses, native(networks, payee.did, made["token"], 11 * UNIT))
        == "invalid_exact_hansa_payload_amount_mismatch"
    )
    assert await payee.balance() == "0"


async def test_a_released_token_is_refused(
    purses: Purses, networks: Networks, payer: TestAgent, payee: TestAgent
) -> None:
    made = await token_of(payer, payee)
    body = {"token": made["token"]}
    await purses.registry.post("/a2a-payment/release", json=body, headers=payer.headers)
    reason = await refused_reason(purses, native(networks, payee.did, made["token"]))
    assert reason == "invalid_exact_hansa_token_status"


async def test_an_expired_token_is_refused(
    purses: Purses, networks: Networks, payer: TestAgent, payee: TestAgent
) -> None:
    made = await token_of(payer, payee)
    await purses.execute(
        "UPDATE commerce_payment_token SET created_at = created_at - interval '1 day', expires_at = now() - interval '1 s'"
        " WHERE id = $1::uuid",
        made["token_id"],
    )
    body = native(networks, payee.did, made["token"])
    assert await refused_reason(purses, body) == "invalid_exact_hansa_token_expired"


async def refused_reason(purses: Purses, body: object) -> str:
    verified, settled = await ask(purses, "verify", body), await ask(purses, "settle", body)
    assert (verified["isValid"], settled["success"]) == (False, False)
    return verified["invalidReason"]


@pytest.mark.parametrize(
    "token", [None, 5, [], "", "t" * 257, "t" * 500_000], ids=lambda token: repr(token)[:12]
)
async def test_what_is_no_token_is_refused(
    open_registry_here: Purses, networks: Networks, unpaid: TestAgent, token: object
) -> None:
    assert await refused(open_registry_here, native(networks, unpaid.did, token)) == "invalid_payload"


async def test_an_unknown_token_is_refused(
    open_registry_here: Purses, networks: Networks, unpaid: TestAgent
) -> None:
    body = native(networks, unpaid.did, "apt_" + "0" * 64)
    assert await refused(open_registry_here, body) == "invalid_exact_hansa_token_not_found"


async def test_priced_agents_are_listed_with_how_they_can_be_paid(purses: Purses, networks: Networks) -> None:
    priced = await purses.developer.agent(name="Priced", pricing={"base_rate": "0.25", "currency": "AVT"})
    await purses.registry.indexed()
    answer = await purses.registry.http.get("/x402/discovery/resources", params={"type": "http"})
    assert answer.status_code == 200, answer.text
    listed = answer.json()
    (item,) = [one for one in listed["items"] if one["metadata"]["did"] == priced.did]
    accepted = {one["network"]: one for one in item["accepts"]}
    assert accepted[networks.wallet]["amount"] == accepted[networks.native]["amount"] == "25000000"
    assert accepted[networks.wallet]["payTo"] == await receive_address(priced)
    assert accepted[networks.native]["payTo"] == priced.did
    assert listed["pagination"]["total"] >= 1
    assert priced.did in item["resource"]


async def test_a_type_that_no_resource_has_lists_none(purses: Purses) -> None:
    answer = await purses.registry.http.get("/x402/discovery/resources", params={"type": "mcp"})
    assert answer.json()["items"] == []


async def test_a_pending_settlement_names_the_payment_token_under_which_it_settles(
    purses: Purses, networks: Networks, payer: TestAgent, payee: TestAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await token_of(payer, payee)
    body = native(networks, payee.did, made["token"])
    right = payments.settle_and_answer

    async def unanswered(*given: Any) -> payments.Token:
        await right(*given)
        raise Unavailable

    monkeypatch.setattr(payments, "settle_and_answer", unanswered)
    pending = await ask(purses, "settle", body)
    monkeypatch.undo()
    settled = await ask(purses, "settle", body)
    assert (pending["success"], pending["errorReason"], pending["transaction"]) == (
        False,
        "settlement_pending",
        made["token_id"],
    )
    assert (settled["success"], settled["extra"]["payment"]) == (True, pending["transaction"])
