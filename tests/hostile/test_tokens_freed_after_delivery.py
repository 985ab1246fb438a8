"""A caller that frees its token after a service which trusts its callers has delivered."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from hansa_client.receipts import DeliveryReceipt, digest_of, sign_receipt, signing_key_of
from tests.client.paid import Shop, shop_of
from tests.doors.served import served
from tests.registry import StartRegistry, TestAgent, TestDeveloper, TestRegistry
from tests.rooms.reputation.rated import Rated


@pytest.fixture
async def registry(start_registry: StartRegistry) -> AsyncIterator[TestRegistry]:
    async with served(start_registry) as registry:
        yield registry


class Robbed:
    """A service that trusts its callers, and a caller that frees its token after the answer."""

    def __init__(self, shop: Shop, administrator: TestDeveloper) -> None:
        self.shop, self.administrator = shop, administrator

    async def freed(self, **how: Any) -> str:
        """The id of a token that its caller freed after the answer."""
        token = await self.shop.token(capture_by="caller", **how)
        answer = await self.shop.call(token)
        assert (answer.status_code, answer.headers["X-Payment-Outcome"]) == (200, "delivered")
        ended = await self.shop.registry_of(self.shop.payer).payments.settle(token.token, success=False)
        assert ended.status == "released"
        return token.token_id

    async def complain(self, token_id: str, receipt: str | None = None) -> Any:
        """The dispute of the service about a token, with its receipt."""
        receipt = receipt or await self.shop.service.receipt(token_id)
        assert receipt
        members = {
            "defendant_did": self.shop.payer.did,
            "token_id": token_id,
            "reason_code": "CONTRACT_VIOLATION",
            "description": "The answer was delivered and the token freed.",
        }
        filed = await self.post(self.shop.payee, "", members)
        await self.post(self.shop.payee, f"{filed['id']}/evidence", self.piece(receipt))
        return filed

    async def post(self, agent: TestAgent, path: str, members: dict[str, Any]) -> Any:
        answer = await self.shop.registry.post(f"/disputes/{path}", json=members, headers=agent.headers)
        assert answer.status_code == 201, answer.text
        return answer.json()

    @staticmethod
    def piece(note: str) -> dict[str, str]:
        return {"sha256": sha256(note.encode()).hexdigest(), "note": note}

    async def try_rule(self, dispute: Any, ruling: str) -> int:
        for act, sent in (("open-voting", None), ("ruling", {"ruling": ruling})):
            path = f"/api/v1/admin/disputes/{dispute['id']}/{act}"
            answer = await self.shop.registry.http.put(path, json=sent, headers=self.administrator.headers)
        return answer.status_code

    async def proposal(self, dispute: Any) -> tuple[str | None, str]:
        path = f"/disputes/{dispute['id']}/bundle"
        found = (await self.shop.registry.get(path, headers=self.shop.payee.headers)).json()["proposal"]
        return found["ruling"], found["rule"]


@pytest.fixture
async def robbed(registry: TestRegistry, tmp_path: Path) -> AsyncIterator[Robbed]:
    async with shop_of(registry, tmp_path, accept_caller_capture=True) as shop:
        yield Robbed(shop, await registry.administrator("admin_enforcement"))


@pytest.mark.parametrize("is_bound", [True, False], ids=["bound to the request", "unbound"])
async def test_a_caller_that_frees_its_token_after_the_receipt_and_is_silent_has_a_negative_signal(
    robbed: Robbed, is_bound: bool
):
    how = {"request_digest": f"sha256:{sha256(b'one').hexdigest()}"} if is_bound else {}
    dispute = await robbed.complain(await robbed.freed(**how))
    assert await robbed.proposal(dispute) == ("IN_FAVOR_OF_COMPLAINANT", "not_paid")
    assert await robbed.try_rule(dispute, "IN_FAVOR_OF_COMPLAINANT") == 200
    rated = Rated(robbed.shop.registry)
    await rated.compute()
    signals = [one["data"] for one in (await rated.exported())["events"]]
    assert [one["ruling"] for one in signals] == ["IN_FAVOR_OF_COMPLAINANT"]
    assert (await rated.track_record(robbed.shop.payer.did))["disputes_lost"] == 1
    components = (await rated.reputation(robbed.shop.payer.did))["components"]
    lost = next(one for one in components if one["name"] == "disputes_lost")
    assert float(lost["amount"]) > 1.4


async def test_a_caller_that_says_why_it_freed_its_token_is_judged_by_an_administrator(robbed: Robbed):
    dispute = await robbed.complain(await robbed.freed())
    await robbed.post(robbed.shop.payer, f"{dispute['id']}/evidence", robbed.piece("The answer was empty."))
    assert await robbed.proposal(dispute) == (None, "undecidable")


async def test_a_receipt_that_is_later_than_the_release_decides_nothing(robbed: Robbed):
    shop = robbed.shop
    token = await shop.token(capture_by="caller")
    assert (await shop.registry_of(shop.payee).payments.verify(token.token)).valid
    await shop.registry_of(shop.payer).payments.settle(token.token, success=False)
    later = datetime.now(UTC) + timedelta(seconds=1)
    stated = DeliveryReceipt(token.token_id, digest_of(b"one"), digest_of(b"two"), later)
    key = signing_key_of(shop.payee.created["private_key_pem"])
    dispute = await robbed.complain(token.token_id, sign_receipt(stated, key))
    assert await robbed.proposal(dispute) == (None, "undecidable")
