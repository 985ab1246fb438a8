"""The payment extension is derived from the older block by two conditions, and never invented."""

from typing import Any

import pytest

from hansa.foundation.values.money import ExponentNumber
from hansa.rooms.catalogue.form import check_card, check_peer_card, require_card
from hansa.rooms.catalogue.payment import declared_price, is_paid, rate_of, with_payment
from hansa_client.amounts import rate_on_card
from hansa_client.pay.offer import price_on_card
from tests.registry import card_of

BASE = "https://hansa.dev"
OWN = {"uri": "https://other.example/extensions/v1/auth/a2a-payment", "params": {"base_rate": "7"}}


def derived(**card: Any) -> dict[str, Any] | None:
    document = card_of(**card)
    shown = with_payment(document, currency="AVT", extension_base=BASE)
    added = [one for one in shown.get("extensions", []) if one not in document.get("extensions", [])]
    assert len(added) <= 1
    return added[0] if added else None


@pytest.mark.parametrize(
    ("rate", "digits"),
    [
        (1, "1"),
        (0.5, "0.5"),
        (2.0, "2"),
        (100, "100"),
        (1e-7, "0.0000001"),
        (1e21, "1" + "0" * 21),
        (12345678901234567890, "12345678901234567890"),
        ("1.50", "1.5"),
    ],
)
def test_a_rate_is_written_digit_for_digit_without_an_exponent(rate: float, digits: str):
    returned = derived(pricing={"base_rate": rate})
    assert returned is not None
    assert returned["params"] == {"base_rate": digits, "currency": "AVT", "pricing_model": "per_request"}
    assert returned["required"] is False


@pytest.mark.parametrize(
    "pricing",
    [
        None,
        {},
        {"base_rate": 0},
        {"base_rate": 0.0},
        {"base_rate": -1},
        {"base_rate": True},
        {"base_rate": "0.00"},
        {"base_rate": "1e3"},
        {"base_rate": "-5"},
        {"base_rate": "abc"},
        {"base_rate": None},
        {"base_rate": [5]},
        {"payment_required": True},
        {"per_request": 5},
        "5",
        [5],
    ],
)
def test_no_price_is_invented(pricing: Any):
    assert derived(pricing=pricing) is None


def test_nothing_is_derived_where_the_card_speaks_of_payment_itself():
    block = {"base_rate": 5}
    assert derived(pricing=block, extensions=[OWN]) is None
    assert derived(pricing=block, capabilities={"extensions": [OWN]}) is None
    assert derived(pricing=block, extensions=[{**OWN, "uri": OWN["uri"] + "/"}]) is None
    assert derived(pricing=block, extensions=[{"uri": "https://x.example/a2a-payment-not"}]) is not None


@pytest.mark.parametrize(
    ("block", "params", "required"),
    [
        ({"currency": "eur"}, {"currency": "EUR"}, False),
        ({"currency": ""}, {"currency": "AVT"}, False),
        ({"currency": 5}, {"currency": "AVT"}, False),
        ({"model": "per-token"}, {"pricing_model": "per-token"}, False),
        ({"pricing_model": "subscription"}, {"pricing_model": "subscription"}, False),
        ({"model": ["x"]}, {"pricing_model": "per_request"}, False),
        ({"payment_required": True}, {}, True),
        ({"payment_required": "true"}, {}, False),
        ({"payment_required": 1}, {}, False),
    ],
)
def test_the_terms_are_those_of_the_block(block: dict[str, Any], params: dict[str, str], required: bool):
    returned = derived(pricing={"base_rate": 5, **block})
    assert returned is not None
    assert params.items() <= returned["params"].items()
    assert returned["required"] is required


def test_a_derived_extension_never_becomes_the_owners_word_and_an_owners_own_stays():
    shown = with_payment(card_of(pricing={"base_rate": 5}), currency="AVT", extension_base=BASE)
    assert require_card(shown) == require_card(card_of(pricing={"base_rate": 5}))
    assert require_card(card_of(pricing={"base_rate": 5}, extensions=[OWN]))["extensions"] == [OWN]


def paying(rate: Any) -> dict[str, Any]:
    return {"uri": BASE + "/extensions/v1/auth/a2a-payment", "params": {"base_rate": rate}}


@pytest.mark.parametrize(
    ("card", "paid", "rate"),
    [
        ({}, False, None),
        ({"pricing": {"base_rate": 0}}, False, "0"),
        ({"pricing": {"base_rate": 2}}, True, "2"),
        ({"pricing": {"base_rate": "1.5"}}, True, "1.5"),
        ({"pricing": {"payment_required": True}}, True, None),
        ({"pricing": {"payment_required": True, "base_rate": 0}}, True, "0"),
        ({"pricing": {"payment_required": "true"}}, False, None),
        ({"extensions": [paying("3")]}, True, "3"),
        ({"extensions": [paying(3)]}, True, "3"),
        ({"extensions": [paying("0")]}, False, "0"),
        ({"extensions": [paying("1e3")]}, False, None),
        ({"extensions": [paying("-3")]}, False, None),
        ({"extensions": [paying(True)]}, False, None),
        ({"extensions": [paying("3")], "pricing": {"base_rate": 5}}, True, "5"),
        ({"extensions": [paying("3")], "pricing": {"base_rate": 0}}, True, "0"),
        ({"extensions": [paying("3")], "pricing": {"model": "per-request"}}, True, "3"),
    ],
)
def test_a_card_is_paid_by_what_it_states(card: dict[str, Any], paid: bool, rate: str | None):
    stated = declared_price(card_of(**card))
    assert is_paid(stated) is paid
    found = rate_of(stated)
    assert (None if found is None else f"{found:f}") == rate


@pytest.mark.parametrize("rate", [1, 0.5, "1.5", 1e-7])
def test_what_is_derived_makes_the_card_a_paid_one_as_the_block_does(rate: Any):
    document = card_of(pricing={"base_rate": rate})
    shown = with_payment(document, currency="AVT", extension_base=BASE)
    assert is_paid(declared_price(document))
    assert is_paid(declared_price(card_of(extensions=shown["extensions"])))


@pytest.mark.parametrize(
    "rate", [True, "abc", "1e3", -1, "-1", [5], {"a": 1}, "", -0.0, 1e-5, 1e16, 1e300, ExponentNumber(1000)]
)
def test_an_owners_rate_in_a_form_that_is_not_allowed_is_refused(rate: Any):
    given = card_of(pricing={"base_rate": rate})
    (error,) = check_card(given).troubles
    assert error.field == "$.pricing.base_rate"
    assert check_peer_card(given).troubles == ()


@pytest.mark.parametrize(
    "rate",
    [
        "-1",
        "+1",
        "1e3",
        "1E-2",
        "",
        " 1",
        "1.",
        ".5",
        "NaN",
        "0x1",
        "\u0661",
        -1,
        True,
        [],
        {},
        -0.0,
        1e-5,
        ExponentNumber(1e3),
    ],
)
@pytest.mark.parametrize("holder", ["extensions", "capabilities"])
def test_a_rate_of_an_extension_with_sign_or_exponent_is_refused_where_it_stands(rate: object, holder: str):
    listed = [{"uri": "https://other.example/more"}, {**OWN, "params": {"base_rate": rate}}]
    card = card_of(
        **({"extensions": listed} if holder == "extensions" else {"capabilities": {"extensions": listed}})
    )
    path = "$.extensions" if holder == "extensions" else "$.capabilities.extensions"
    fields = [error.field for error in check_card(card).troubles]
    assert f"{path}[1].params.base_rate" in fields


@pytest.mark.parametrize("rate", ["7", "0.25", "0", "0.00000001", 7, 0.25, 0.0001, 1000.0, 10**20, None])
def test_a_rate_of_digits_with_an_optional_fraction_is_accepted(rate: object):
    assert not check_card(card_of(extensions=[{**OWN, "params": {"base_rate": rate}}])).troubles


RATES = [
    *(
        "0",
        "7",
        "0.25",
        "007",
        "1.",
        ".5",
        "1e3",
        "1E-2",
        "+1",
        "-1",
        "-0",
        " 1",
        "1 ",
        "1\n",
        "",
        "NaN",
        "0x1",
        "\u0661",
        "1,5",
    ),
    *(0, 7, 0.25, 1e-5, 1e16, 1000.0, -0.0, -1, -0.5, True, False, None, [], {}, [7]),
]


@pytest.mark.parametrize("rate", RATES, ids=repr)
def test_registry_and_client_read_the_same_rate(rate: object):
    assert rate_on_card(rate) == rate_of({"base_rate": rate})
    block = {"base_rate": rate, "currency": "AVT"}
    price = rate_of(block)
    assert price_on_card(card_of(pricing=block)) == ((price, "AVT") if price else None)
    assert price_on_card(card_of(extensions=[{**OWN, "params": block}])) == (
        (price, "AVT") if price else None
    )
