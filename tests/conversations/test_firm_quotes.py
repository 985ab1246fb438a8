"""GET /a2a-payment/quote with firm=true, and POST /a2a-payment/authorize with its quote_token."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime
from typing import Any

import pytest

from hansa.foundation.values.money import parse_amount
from hansa.rooms import federation
from tests.paying import ELSEWHERE, Payments
from tests.registry import TestAgent, TestRegistry, at_once


@pytest.fixture
async def payments(registry: TestRegistry) -> Payments:
    service = await registry.agent(name="Service", pricing={"base_rate": "2.5"})
    return Payments(registry, await registry.agent(name="Caller"), service)


async def firm(payments: Payments, *, by: TestAgent | None = None, **query: str) -> Any:
    params = {"target_agent_did": payments.service.did, "firm": "true", **query}
    return await payments.registry.get(
        "/a2a-payment/quote", params=params, headers=(by or payments.caller).headers
    )


async def quote_token(payments: Payments, **query: str) -> str:
    answer = await firm(payments, **query)
    assert answer.status_code == 200, answer.text
    return answer.json()["quote_token"]


def part(token: str, place: int) -> dict[str, Any]:
    text = token.split(".")[place]
    return json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def with_part(token: str, place: int, **members: object) -> str:
    parts = token.split(".")
    changed = json.dumps({**part(token, place), **members}).encode()
    parts[place] = urlsafe_b64encode(changed).rstrip(b"=").decode()
    return ".".join(parts)


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_a_firm_quote_is_signed_and_lasts_60_seconds(payments: Payments):
    answer = (await firm(payments)).json()
    token = answer["quote_token"]
    assert part(token, 0)["typ"] == "payment-quote+jws"
    payload = part(token, 1)
    assert payload.pop("jti")
    issued, expires = payload.pop("iat"), payload.pop("exp")
    assert expires - issued == 60
    assert datetime.fromisoformat(answer["expires_at"]).timestamp() == expires
    assert payload == {
        "kind": "pay.quote.v1",
        "caller": payments.caller.did,
        "payee": payments.service.did,
        "amount": "2.5",
        "currency": "AVT",
        "price": "2.5",
        "price_currency": "AVT",
        "rate": "1",
        "fee": "0.0125",
    }


async def test_a_quote_is_not_firm_unless_that_is_named(payments: Payments):
    answer = await firm(payments, firm="false")
    assert answer.json()["quote_token"] is None


@pytest.mark.parametrize("reserve", [False, True], ids=["plain", "reserved"])
async def test_authorize_honours_the_quoted_fee_to_the_last_unit(payments: Payments, reserve: bool):
    token = await quote_token(payments, amount="10")
    # What the caller turns over in between raises the fee of the moment.
    for amount in ("90", "80"):
        await payments.caller.transfer(payments.service, amount)
        await payments.service.transfer(payments.caller, amount)
    raised = (await firm(payments, amount="10")).json()
    before = parse_amount(await payments.caller.balance())
    made = await payments.authorized("10", quote_token=token, reserve=reserve)
    assert (await payments.settle(made["token"], wait=10)).json()["status"] == "settled"
    after = parse_amount(await payments.caller.balance())
    assert raised["fee"] != "0.05"
    assert before - after == parse_amount("10.05")
    assert (await payments.registry.supply())["delta"] == "0"


async def test_a_quote_is_good_for_one_token(payments: Payments):
    token = await quote_token(payments)
    await payments.authorized("2.5", quote_token=token)
    assert code(await payments.ask("2.5", quote_token=token)) == (409, "QUOTE_USED")


async def test_of_many_authorizations_with_one_quote_at_once_one_succeeds(payments: Payments):
    token = await quote_token(payments)
    answers = await at_once(*(payments.ask("2.5", quote_token=token) for _ in range(12)))
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 11


async def test_a_repeated_key_returns_the_same_token_although_its_quote_is_used(payments: Payments):
    token = await quote_token(payments)
    first, again = [await payments.ask("2.5", key="order-1", quote_token=token) for _ in range(2)]
    assert (first.status_code, again.json()) == (200, first.json())
    assert again.headers["Idempotent-Replayed"] == "true"


async def test_a_repeated_key_returns_the_same_firm_quote_and_takes_one_place(payments: Payments):
    params = {"target_agent_did": payments.service.did, "firm": "true"}
    headers = {**payments.caller.headers, "Idempotency-Key": "quote-1"}

    async def asked(**more: str) -> Any:
        return await payments.registry.get("/a2a-payment/quote", params={**params, **more}, headers=headers)

    answers = await at_once(*(asked() for _ in range(6)))
    assert {answer.status_code for answer in answers} <= {200, 422}
    again = await asked()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert {answer.text for answer in answers if answer.status_code == 200} == {again.text}
    assert code(await asked(amount="3")) == (422, "IDEMPOTENCY_KEY_REUSED")
    taken = "SELECT count(*) FROM commerce_firm_quote WHERE caller = $1 AND expires_at > now()"
    assert await payments.registry.database.read(lambda tx: tx.fetchval(taken, payments.caller.did)) == 1
    await payments.authorized("2.5", quote_token=again.json()["quote_token"])


async def test_a_refused_firm_quote_leaves_its_key_free(payments: Payments):
    headers = {**payments.caller.headers, "Idempotency-Key": "quote-2"}
    free = await payments.registry.agent(name="Free")
    for payee, status in ((free, 422), (payments.service, 200)):
        params = {"target_agent_did": payee.did, "firm": "true"}
        answer = await payments.registry.get("/a2a-payment/quote", params=params, headers=headers)
        assert answer.status_code == status, answer.text


async def test_a_refused_authorization_leaves_its_quote_usable(payments: Payments):
    token = await quote_token(payments, amount="99.9")
    refused = await payments.ask("99.9", quote_token=token)
    assert (refused.status_code, refused.json()["error"]["context"]["required"]) == (402, "100.3995")
    assert code(await payments.ask("99.9", quote_token=token)) == (402, "INSUFFICIENT_BALANCE")


async def test_another_amount_or_payee_is_refused_with_422(payments: Payments):
    token = await quote_token(payments)
    other = await payments.registry.agent()
    assert code(await payments.ask("2.4", quote_token=token)) == (422, "QUOTE_MISMATCH")
    elsewhere = await payments.ask("2.5", quote_token=token, target_agent_did=other.did)
    assert code(elsewhere) == (422, "QUOTE_MISMATCH")
    assert (await payments.ask("2.50", quote_token=token)).status_code == 200


async def test_the_quote_of_another_caller_is_refused_with_403(payments: Payments):
    other = await payments.registry.agent()
    token = (await firm(payments, by=other)).json()["quote_token"]
    assert code(await payments.ask("2.5", quote_token=token)) == (403, "QUOTE_OF_ANOTHER")


async def test_an_expired_quote_is_refused_with_409(payments: Payments):
    # Signed by the registry's key as the route does it, with a time that is over.
    payload = part(await quote_token(payments), 1)
    token = await signed(payments, {**payload, "iat": payload["iat"] - 61, "exp": payload["exp"] - 61})
    assert code(await payments.ask("2.5", quote_token=token)) == (409, "QUOTE_EXPIRED")


async def test_a_quote_outlives_the_rotation_of_the_registrys_key(payments: Payments):
    token = await quote_token(payments)
    runtime = payments.registry.runtime
    await runtime.database.transaction(
        lambda tx: federation.rotate_key(tx, runtime.settings, runtime.seal, None)
    )
    await payments.authorized("2.5", quote_token=token)


async def test_what_the_registry_did_not_sign_as_a_quote_is_refused_with_422(payments: Payments):
    token = await quote_token(payments)
    payload = part(token, 1)
    header, body, signature = token.split(".")
    wrong = [
        "",
        "x",
        "..",
        "a.b.c",
        f"{header}.{body}",
        f"{header}.{body}.{signature}.",
        f"{header}.{body}.{signature[:-4]}AAAA",
        with_part(token, 1, amount="0.1"),
        with_part(token, 1, fee="0"),
        with_part(token, 0, alg="none"),
        with_part(token, 0, kid="another#1"),
        await signed(payments, payload, typ="JOSE"),
        payments.caller.headers["Authorization"].removeprefix("Bearer "),
    ]
    for text in wrong:
        assert code(await payments.ask("2.5", quote_token=text)) == (422, "QUOTE_TOKEN_INVALID"), text
    assert (await payments.ask("2.5", quote_token="x" * 5000)).status_code == 422
    assert (await payments.ask("2.5", quote_token=17)).status_code == 422


async def test_only_a_payee_of_this_registry_has_firm_quotes(payments: Payments):
    assert (await firm(payments, target_agent_did=ELSEWHERE)).status_code == 404
    free = await payments.registry.agent()
    assert code(await firm(payments, target_agent_did=free.did)) == (422, "QUOTE_NOT_FIRM")
    foreign = await payments.registry.agent(pricing={"base_rate": "1", "currency": "EUR"})
    assert code(await firm(payments, target_agent_did=foreign.did)) == (422, "QUOTE_NOT_FIRM")


async def signed(payments: Payments, payload: dict[str, Any], typ: str = "payment-quote+jws") -> str:
    """A token with that payload, signed by the registry's own key."""
    runtime = payments.registry.runtime
    key = await federation.Signatory(runtime.database, runtime.seal).present_key()
    raw = json.dumps(payload, sort_keys=True, separators=(",", ":")).encode()
    entry = federation.detached_signature(key, raw, {"typ": typ})
    body = urlsafe_b64encode(raw).rstrip(b"=").decode()
    return f"{entry['protected']}.{body}.{entry['signature']}"


async def test_an_agent_has_at_most_five_firm_quotes_that_are_neither_used_nor_over(payments: Payments):
    answers = await at_once(*(firm(payments) for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] * 5 + [429] * 3
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert code(refused) == (429, "TOO_MANY_FIRM_QUOTES")
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    held = [answer.json()["quote_token"] for answer in answers if answer.status_code == 200]
    assert (await payments.ask("2.5", quote_token=held[0])).status_code == 200
    assert (await firm(payments)).status_code == 200
    assert code(await firm(payments)) == (429, "TOO_MANY_FIRM_QUOTES")
    assert (
        await firm(payments, by=payments.service, target_agent_did=payments.caller.did, amount="1")
    ).status_code == 200
    await payments.registry.database.transaction(
        lambda tx: tx.execute("UPDATE commerce_firm_quote SET expires_at = clock_timestamp() WHERE slot = 1")
    )
    assert (await firm(payments)).status_code == 200


async def test_a_refused_authorization_leaves_its_quote_among_the_five(payments: Payments):
    tokens = [await quote_token(payments) for _ in range(5)]
    assert (await payments.ask("3", quote_token=tokens[0])).status_code == 422
    assert code(await firm(payments)) == (429, "TOO_MANY_FIRM_QUOTES")
