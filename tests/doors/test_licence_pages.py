"""Pages of licences show the facts that anyone can verify, and the time of their verification here."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.registry import StartRegistry, TestRegistry

GENESIS = {
    "trust_domain": "genesis.example",
    "is_central_registry": True,
    "sovereign_mainframes": ["genesis.example"],
}
PAGE = {"Accept": "text/html"}


class Issuer:
    """A genesis registry and its administrator."""

    def __init__(self, registry: TestRegistry, headers: dict[str, str]) -> None:
        self.registry, self.headers = registry, headers

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = await self.registry.post(
            f"/admin/federation/licences{path}", json=body, headers=self.headers
        )
        assert answer.is_success, answer.text
        answered: dict[str, Any] = answer.json()
        return answered

    async def frame(self, number: int) -> dict[str, Any]:
        subject = {"trust_domain": f"frame{number}.example", "name": f"Frame <{number}>"}
        key = (await self.registry.get("/admin/federation/licences/key", headers=self.headers)).json()
        return await self.post("", {"sub": subject, "plan": "founding", "key": key})

    async def shown(self, path: str) -> dict[str, Any]:
        document: dict[str, Any] = (await self.registry.http.get(f"{path}.json")).json()
        return document

    async def text(self, path: str) -> str:
        answer = await self.registry.http.get(path, headers=PAGE)
        assert answer.status_code == 200
        return answer.text


@pytest.fixture
async def genesis(start_registry: StartRegistry) -> Issuer:
    registry = await start_registry(**GENESIS)
    administrator = await registry.administrator("admin_federation")
    issuer = Issuer(registry, administrator.headers)
    await issuer.post("/genesis", {})
    await registry.http.get("/.well-known/federation-licences.json")
    return issuer


async def test_the_page_has_the_own_licence_with_every_check_and_the_time_of_verification(genesis: Issuer):
    own = (await genesis.shown("/licences"))["own"]
    assert own["code"] == "verified"
    assert own["checks"]
    assert all(check["holds"] for check in own["checks"])
    age = datetime.now(UTC) - datetime.fromisoformat(own["verified_at"])
    assert timedelta(minutes=-1) < age < timedelta(minutes=1)
    held = (await genesis.registry.http.get("/.well-known/federation-licence.json")).json()
    assert [one["hash"] for one in own["chain"]] == [held["hash"]]
    text = await genesis.text("/licences")
    assert held["hash"] in text
    assert "Verified by this registry" in text


async def test_each_issued_licence_has_a_page_that_follows_its_state(genesis: Issuer):
    issued = await genesis.frame(1)
    (line, _) = (await genesis.shown("/licences"))["issued"]
    assert (line["lid"], line["state"]) == (issued["lid"], "active")
    await genesis.registry.http.get("/.well-known/federation-licences.json")
    page = f"/licences/{issued['lid']}"
    shown = await genesis.shown(page)
    assert (shown["verified"]["code"], shown["certificate"]) == ("verified", issued["certificate"])
    assert [one["type"] for one in shown["verified"]["chain"]] == ["frame", "genesis"]
    text = await genesis.text(page)
    assert "Frame &lt;1&gt;" in text
    assert "Frame <1>" not in text
    await genesis.post(f"/{issued['lid']}/suspend", {"reason": "For a test."})
    await genesis.registry.http.get("/.well-known/federation-licences.json")
    shown = await genesis.shown(page)
    assert (shown["issued"]["state"], shown["verified"]["code"]) == ("suspended", "suspended")
    assert "Fail" in await genesis.text(page)


async def test_the_list_has_pages_and_an_unknown_licence_is_404(genesis: Issuer):
    for number in range(51):
        await genesis.frame(number)
    first = await genesis.shown("/licences")
    assert (len(first["issued"]), first["total"]) == (50, 52)
    assert 'href="/licences?offset=50"' in await genesis.text("/licences")
    second = (await genesis.registry.http.get("/licences.json?offset=50")).json()
    assert not {one["lid"] for one in first["issued"]} & {one["lid"] for one in second["issued"]}
    assert len(second["issued"]) == 2
    unknown = await genesis.registry.http.get("/licences/3fa85f64-5717-4562-b3fc-2c963f66afa6.json")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "LICENCE_UNKNOWN")


async def test_a_registry_without_a_licence_says_so_and_the_front_page_leads_here(registry: TestRegistry):
    assert (await registry.http.get("/licences.json")).json()["own"] is None
    page = await registry.http.get("/licences", headers=PAGE)
    assert "holds no licence certificate" in page.text
    assert 'href="/licences"' in (await registry.http.get("/", headers=PAGE)).text
