"""GET /pay/{token_id}: the signed receipt of a settled payment."""

import json
from typing import Any
from uuid import uuid4

import pytest

from hansa_verify import canonical_json, read_entry, read_keys, verify_document
from tests.paying import Payments
from tests.registry import TestRegistry

JSON = {"Accept": "application/json"}


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


@pytest.fixture
async def payments(registry: TestRegistry) -> Payments:
    return await Payments.between_two(registry)


async def settled(payments: Payments, **more: Any) -> dict[str, Any]:
    made = await payments.authorized("2.5", resource="urn:skill:secret", **more)
    answer = await payments.settle(made["token"], wait=10, task_id="task-private")
    assert answer.json()["status"] == "settled", answer.text
    return made


async def receipt_of(payments: Payments, token_id: str) -> dict[str, Any]:
    answer = await payments.registry.http.get(f"/pay/{token_id}", headers=JSON)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_settled_payment_has_a_receipt_for_anyone_with_the_link(payments: Payments):
    made = await settled(payments)
    receipt = await receipt_of(payments, made["token_id"])
    assert receipt.pop("signatures")
    assert receipt.pop("settled_at")
    assert receipt.pop("settlement_tx_id").startswith("tx-")
    assert receipt == {
        "kind": "pay.receipt.v1",
        "token_id": made["token_id"],
        "status": "settled",
        "caller_did": payments.caller.did,
        "target_agent_did": payments.service.did,
        "amount": "2.5",
        "fee": "0.0125",
        "currency": "AVT",
    }


async def test_its_signature_is_verified_offline_with_the_published_keys(payments: Payments):
    receipt = await receipt_of(payments, (await settled(payments))["token_id"])
    answer = await payments.registry.http.get("/.well-known/registry-jwks.json")
    keys = {key.kid: key.public_key for key in read_keys(answer.json())}
    (entry,) = [read_entry(one) for one in receipt.pop("signatures")]
    assert entry.header["typ"] == "payment-receipt+jws"
    key = keys[entry.kid or ""]
    assert entry.is_by(key, canonical_json(receipt))
    assert not entry.is_by(key, canonical_json({**receipt, "amount": "3"}))


async def test_the_verifier_judges_the_text_of_a_receipt_offline(payments: Payments):
    receipt = await receipt_of(payments, (await settled(payments))["token_id"])
    keys = read_keys((await payments.registry.http.get("/.well-known/registry-jwks.json")).json())
    verdict = verify_document(json.dumps(receipt), keys, typ="payment-receipt+jws")
    assert (verdict.code, dict(verdict.card or {})) == (
        "verified",
        {name: value for name, value in receipt.items() if name != "signatures"},
    )
    for changed in ({"amount": "3"}, {"target_agent_did": payments.caller.did}, {"status": "failed"}):
        text = json.dumps({**receipt, **changed})
        assert verify_document(text, keys, typ="payment-receipt+jws").code == "bad_signature"
    assert verify_document(json.dumps(receipt), keys, typ="JOSE").code == "malformed"


async def test_it_is_a_page_for_a_browser(payments: Payments):
    made = await settled(payments)
    answer = await payments.registry.http.get(f"/pay/{made['token_id']}", headers={"Accept": "text/html"})
    assert answer.headers["content-type"].startswith("text/html")
    for shown in ("2.5 AVT", "0.0125 AVT", payments.caller.did, payments.service.did):
        assert shown in answer.text


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
async def test_it_never_shows_the_token_or_what_is_private(payments: Payments, accept: str):
    digest = "sha256:" + "ab" * 32
    made = await settled(payments, contract_id=4711, request_digest=digest)
    answer = await payments.registry.http.get(f"/pay/{made['token_id']}", headers={"Accept": accept})
    for private in (made["token"], "apt_", "task-private", "urn:skill:secret", digest, "4711"):
        assert private not in answer.text


async def test_it_is_404_before_the_token_is_settled(payments: Payments):
    open_one, released = [await payments.authorized() for _ in range(2)]
    await payments.release(released["token"])
    for token_id in (open_one["token_id"], released["token_id"], str(uuid4())):
        as_json = await payments.registry.http.get(f"/pay/{token_id}", headers=JSON)
        as_page = await payments.registry.http.get(f"/pay/{token_id}")
        assert (as_json.status_code, as_json.json()["error"]["code"]) == (404, "RECEIPT_UNKNOWN")
        assert (as_page.status_code, "Receipt not found" in as_page.text) == (404, True)


async def test_a_capture_in_part_states_what_was_paid(payments: Payments):
    made = await payments.authorized("10", capture_by="payee")
    answer = await payments.settle(made["token"], by=payments.service, wait=10, capture_amount="4")
    assert answer.json()["status"] == "settled", answer.text
    receipt = await receipt_of(payments, made["token_id"])
    assert (receipt["amount"], receipt["fee"]) == ("4", "0.02")
