"""Texts that are no payment token of this registry, on every route that takes one: one sentence, and nothing changed."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from tests.hostile.refusals import fault_of
from tests.paying import Payments
from tests.properties.proof import prove_book
from tests.registry import StartRegistry

TEN_MEGABYTES = "a" * 10_000_000
# The text "apt_" and 64 hexadecimal digits are the form of a token.
SHAPES = {
    "empty": "",
    "the prefix alone": "apt_",
    "a digit too few": "apt_" + "0" * 63,
    "a digit too many": "apt_" + "0" * 65,
    "capitals": "APT_" + "A" * 64,
    "no hexadecimal digits": "apt_" + "z" * 64,
    "with spaces around": " apt_" + "0" * 64 + " ",
    "with a line break": "apt_" + "0" * 64 + "\n",
    "with a null character": "apt_" + "0" * 63 + "\0",
    "digits of another script": "apt_" + "\u0660" * 64,
    "a statement": "apt_' OR status = 'authorized' --",
    "a million characters": "apt_" + "0" * 1_000_000,
}


@pytest.fixture
async def payments(start_registry: StartRegistry) -> AsyncIterator[Payments]:
    """Nothing moves in any test: balances, tokens and the books stay as they are."""
    registry = await start_registry(rate_limit_reads="off", rate_limit_writes="off")
    payments = await Payments.between_two(registry)
    open_token = await payments.authorized("10", reserve=True)
    before = await payments.balances(), await payments.listed(open_token["token_id"])
    yield payments
    assert (await payments.balances(), await payments.listed(open_token["token_id"])) == before
    await registry.database.read(prove_book)


async def sent(payments: Payments, token: str) -> dict[str, httpx2.Response]:
    """The answers of every route of `/a2a-payment` that takes a token."""
    body = {"token": token}
    return {
        "verify": await payments.post("verify", None, body),
        "settle": await payments.post("settle", payments.caller, body, Prefer="wait=5"),
        "release": await payments.post("release", payments.caller, body),
        "settle-many": await payments.post("settle-many", payments.caller, {"tokens": [body]}),
    }


async def test_a_token_of_another_registry_is_unknown_on_every_route(
    payments: Payments, start_registry: StartRegistry
):
    other = await Payments.between_two(await start_registry(trust_domain="other.example"))
    foreign = await other.authorized("10", reserve=True)
    answers = await sent(payments, foreign["token"])
    assert answers["verify"].json()["error"] == "Token not found"
    for route in ("settle", "release"):
        assert fault_of(answers[route]) is None
        assert answers[route].json()["error"]["code"] == "PAYMENT_TOKEN_UNKNOWN"
    [line] = answers["settle-many"].json()["items"]
    assert line["error"]["code"] == "PAYMENT_TOKEN_UNKNOWN"
    by_id = await payments.post(f"release-by-id/{foreign['token_id']}", payments.caller, None)
    assert by_id.json()["error"]["code"] == "PAYMENT_TOKEN_UNKNOWN"
    assert (await other.listed(foreign["token_id"]))["status"] == "authorized"


@pytest.mark.parametrize("shape", SHAPES)
async def test_a_token_of_a_wrong_shape_is_one_sentence_on_every_route(payments: Payments, shape: str):
    answers = await sent(payments, SHAPES[shape])
    for route in ("settle", "release"):
        assert answers[route].status_code in {404, 413, 422}
        assert fault_of(answers[route]) is None
    verified, many = answers["verify"], answers["settle-many"]
    assert verified.json().get("error") == "Token not found" or fault_of(verified) is None
    assert many.json().get("completed") == 0 or fault_of(many) is None


async def test_a_token_of_ten_megabytes_is_refused_on_every_route(payments: Payments):
    for route, answer in (await sent(payments, TEN_MEGABYTES)).items():
        assert (answer.status_code, fault_of(answer)) == (413, None), route
