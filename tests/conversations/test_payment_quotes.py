"""GET /a2a-payment/quote: the price in the order of the specification."""

from typing import Any

import pytest

from tests.registry import TestRegistry

EXTENSION = {"uri": "https://hansa.dev/extensions/v1/auth/a2a-payment", "params": {"base_rate": "3.5"}}


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


async def quoted(registry: TestRegistry, amount: str | None = None, **card: Any) -> dict[str, Any]:
    caller, service = await registry.agent(), await registry.agent(**card)
    params = {"target_agent_did": service.did, **({"amount": amount} if amount else {})}
    answer = await registry.get("/a2a-payment/quote", params=params, headers=caller.headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert found.pop("target_agent_did") == service.did
    assert found.pop("expires_at")
    return found


async def test_the_older_block_states_the_price_before_the_extension(registry: TestRegistry):
    found = await quoted(registry, pricing={"base_rate": "2.50", "currency": "avt"}, extensions=[EXTENSION])
    assert found == {
        "price": "2.5",
        "price_currency": "AVT",
        "amount": "2.5",
        "amount_received": "2.5",
        "currency": "AVT",
        "rate": "1",
        "fee": "0.0125",
        "total": "2.5125",
        "pricing_model": "per_request",
        "source": "legacy",
        "quote_token": None,
    }


async def test_the_extension_states_the_price_where_the_block_says_nothing(registry: TestRegistry):
    found = await quoted(registry, extensions=[EXTENSION])
    assert (found["source"], found["amount"], found["fee"]) == ("extension", "3.5", "0.0175")


@pytest.mark.parametrize(
    ("price", "amount"),
    [
        ("0.000000001", "0.00000001"),
        ("1." + "0" * 40 + "1", "1.00000001"),
        ("0." + "0" * 2000 + "1", "0.00000001"),
        ("9999999999.99999999" + "0" * 40 + "1", "10000000000"),
        ("10000000000", "10000000000"),
        ("10000000000." + "0" * 40 + "1", None),
        ("9" * 400, None),
        (0.00012345678912, "0.00012346"),
    ],
)
async def test_the_amount_is_the_least_that_covers_the_price_to_its_last_digit(
    registry: TestRegistry, price: str | float, amount: str | None
):
    found = await quoted(registry, pricing={"base_rate": price})
    assert (found["source"], found["amount"]) == ("legacy", amount)


async def test_a_free_card_is_quoted_as_nothing(registry: TestRegistry):
    found = await quoted(registry)
    assert (found["source"], found["amount"], found["total"]) == ("none", "0", "0")


async def test_payment_required_without_a_rate_has_no_price(registry: TestRegistry):
    found = await quoted(registry, pricing={"payment_required": True})
    assert (found["source"], found["price"], found["amount"], found["total"]) == ("legacy", None, None, None)


async def test_a_price_in_another_currency_has_no_rate_here(registry: TestRegistry):
    found = await quoted(registry, pricing={"base_rate": 2, "currency": "EUR"})
    assert (found["price"], found["price_currency"], found["rate"], found["amount"]) == (
        "2",
        "EUR",
        None,
        None,
    )


async def test_an_amount_that_is_named_takes_the_place_of_the_price(registry: TestRegistry):
    found = await quoted(registry, "1000", pricing={"base_rate": 2})
    assert (found["price"], found["amount"], found["total"]) == ("2", "1000", "1005")


@pytest.mark.parametrize(("target", "status"), [("x", 400), ("did:web:unknown.example", 404)])
async def test_a_target_that_is_no_did_or_has_no_card_is_refused(
    registry: TestRegistry, target: str, status: int
):
    caller = await registry.agent()
    answer = await registry.get(
        "/a2a-payment/quote", params={"target_agent_did": target}, headers=caller.headers
    )
    assert answer.status_code == status
