"""A caller that takes the answers of a paid service and keeps its units."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hansa_client.pay import paying
from tests.client.paid import PRICE, Shop, shop_of
from tests.doors.served import served
from tests.registry import StartRegistry, TestRegistry

CALLS = 5


@pytest.fixture
async def registry(start_registry: StartRegistry) -> AsyncIterator[TestRegistry]:
    async with served(start_registry) as registry:
        yield registry


@pytest.fixture(params=[True, False], ids=["with credentials", "without credentials"])
async def shop(registry: TestRegistry, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Shop]:
    async with shop_of(registry, tmp_path, captures=request.param) as opened:
        yield opened


async def test_answers_are_not_had_for_tokens_that_their_caller_frees_afterwards(shop: Shop):
    before = float(await shop.payer.balance())
    for number in range(CALLS):
        token = await shop.token(capture_by="caller")
        answer = await shop.call(token, content=f"{number}".encode())
        assert answer.status_code == 402
        assert answer.json()["code"] == ("CAPTURE_BY_CALLER" if shop.service.captures else "NOT_RESERVED")
        await shop.registry_of(shop.payer).payments.settle(token.token, success=False)
    assert float(await shop.payer.balance()) == before
    assert not shop.works.executions


async def test_units_that_were_spent_meanwhile_buy_no_answer(shop: Shop):
    """A token without a reserve is as good as the balance of its caller at the moment of the settlement."""
    token = await shop.token(capture_by="caller")
    moved = await shop.payer.transfer(shop.payee, "99")
    assert moved.status_code == 200, moved.text
    assert (await shop.call(token)).status_code == 402
    assert not shop.works.executions


async def test_a_service_that_opted_in_takes_tokens_that_their_caller_settles(
    registry: TestRegistry, tmp_path: Path
):
    async with shop_of(registry, tmp_path, accept_caller_capture=True) as shop:
        assert (await shop.call(await shop.token(capture_by="caller"))).status_code == 200
        assert (await shop.call(await shop.token(), content=b"two")).status_code == 200


async def test_a_price_that_was_read_on_the_card_is_paid_as_the_service_demands_it(shop: Shop):
    response = await shop.client().post(
        f"{shop.url}/work", content=b"one", extensions=paying(payee=shop.payee.did)
    )
    assert response.status_code == 200
    ended = sorted(one["status"] for one in await shop.tokens())
    assert ended == ["released", "settled"]
    assert float(await shop.payee.balance()) == 100 + float(PRICE)
