"""A registry of an earlier state of the code is whole after a start of this one: nothing is lost, everything works."""

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from hansa.foundation.plumbing.storage.migrate import newest_schema, present_schema
from hansa.foundation.values.money import Minor, units
from hansa.rooms import auditor, ledger
from hansa.rooms.agents.grants import pay_owed_grants
from tests.operation.own_database import own_database
from tests.registry import PASSWORD, TestAgent, TestDeveloper, TestRegistry, open_registry, text_of
from tests.rooms.notifications.webhooks.receiver import Receiver, receiving, send_due
from tests.upgrade.history import SETTINGS, read_balances, totp_now
from tests.upgrade.restore import read_expected, restore_dump

# Members that change at a login or with time, in every answer.
CHANGING = {"last_active_at", "last_used_at", "checked_at", "as_of", "position", "tries", "spent_today"}
# Members that were moved by the age of the dump, by the path of the answer.
MOVED = {
    "/agents/capabilities/mine": {"created_at", "expires_at"},
    "/agents/me/spend-approvals": {"created_at", "expires_at", "decided_at"},
    "/developers/webhooks/": {"next_try_at", "created_at", "last_tried_at"},
    "/staking/my-positions": {"staked_at", "unlocks_at"},
    "/disputes/": {"opened_at", "evidence_until", "rule_by"},
    "/account/deletion-status": {"requested_at", "effective_at"},
}


@dataclass
class Upgraded:
    """The upgraded registry, and the readings recorded when it was dumped."""

    registry: TestRegistry
    expected: dict[str, Any]
    receiver: Receiver
    logged_in: dict[str, TestDeveloper] = field(default_factory=dict)

    async def developer(self, name: str) -> TestDeveloper:
        """Logged in anew, once: a code of the app is good for one login."""
        if name not in self.logged_in:
            self.logged_in[name] = await self._log_in(name)
        return self.logged_in[name]

    async def _log_in(self, name: str) -> TestDeveloper:
        if name == "root":
            email, form = "administrator1@example.org", {}
        else:
            known = self.expected["developers"][name]
            email, form = known["email"], {"totp_code": totp_now(known["seed"])} if "seed" in known else {}
        form = {"username": email, "password": PASSWORD, **form}
        answer = await self.registry.post("/auth/login", data=form, headers=self.registry.elsewhere())
        assert answer.status_code == 200, answer.text
        return TestDeveloper(self.registry, email, answer.json()["access_token"])

    async def agent(self, name: str) -> TestAgent:
        """Logged in anew, with its old secret."""
        known = self.expected["agents"][name]
        form = {"username": known["client_id"], "password": known["client_secret"]}
        answer = await self.registry.post("/auth/agent/token", data=form, headers=self.registry.elsewhere())
        assert answer.status_code == 200, answer.text
        return TestAgent(self.registry, known["did"], answer.json()["access_token"], known)

    async def headers(self, name: str) -> dict[str, str]:
        if name == "anyone":
            return {}
        if name == "internal":
            return self.registry.internal
        is_agent = name in self.expected["agents"]
        return (await self.agent(name) if is_agent else await self.developer(name)).headers


@pytest.fixture(scope="module")
async def upgraded(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Upgraded]:
    """Restored and started once for all tests, which run in their order; the role may do nothing else."""
    directory = tmp_path_factory.mktemp("upgraded")
    async with own_database(postgres) as dsn, receiving() as receiver:
        await restore_dump(dsn, directory)
        allowed = receiver.place
        async with open_registry(dsn, directory, **SETTINGS, outgoing_allow_user_hosts=allowed) as registry:
            yield Upgraded(registry, read_expected(), receiver)


def differences(expected: Any, found: Any, ignored: set[str], place: str = "") -> list[str]:
    """The places where an answer differs from the recorded one; further members are no difference."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return [
            error
            for name, value in expected.items()
            if name not in ignored
            for error in differences(value, found.get(name), ignored, f"{place}.{name}")
        ]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [
            error
            for number, (one, other) in pairs
            for error in differences(one, other, ignored, f"{place}[{number}]")
        ]
    return [] if expected == found else [f"{place}: {expected!r} became {found!r}"[:500]]


async def test_the_schema_is_that_of_this_version_and_every_balance_is_what_it_was(upgraded: Upgraded):
    dsn = upgraded.registry.settings.database_url
    assert dsn is not None
    assert await present_schema(dsn) == newest_schema()
    assert await read_balances(upgraded.registry) == upgraded.expected["balances"]


async def test_the_audit_from_the_first_event_finds_no_difference(upgraded: Upgraded):
    verdict = await upgraded.registry.database.transaction(auditor.audit_from_zero, one_snapshot=True)
    assert (verdict.status, verdict.supply.delta) == ("OK", 0)


async def test_every_recorded_request_has_the_same_answer(upgraded: Upgraded):
    headers: dict[str, dict[str, str]] = {}
    troubles = []
    for reading in upgraded.expected["readings"]:
        by, path = reading["by"], reading["path"]
        if by not in headers:
            headers[by] = await upgraded.headers(by)
        answer = await upgraded.registry.get(path, headers={**headers[by], **upgraded.registry.elsewhere()})
        assert answer.status_code == 200, f"{path}: {answer.text}"
        found = answer.json()
        if path.endswith("/event-emission-policies"):
            # A newer version has further events.
            known = {policy["event_type"] for policy in reading["body"]["items"]}
            found["items"] = [policy for policy in found["items"] if policy["event_type"] in known]
        moved = next((members for start, members in MOVED.items() if path.startswith(start)), set())
        troubles += [f"{by} {path}{error}" for error in differences(reading["body"], found, CHANGING | moved)]
    assert troubles == [], "\n".join(troubles)


async def test_sessions_passwords_api_keys_and_codes_are_still_accepted(upgraded: Upgraded):
    registry, developers = upgraded.registry, upgraded.expected["developers"]
    for known in developers.values():
        refresh = {"refresh_token": known["refresh_token"]}
        answer = await registry.post("/auth/refresh", json=refresh)
        assert answer.status_code == 200, answer.text
    key = {"Authorization": f"Bearer {developers['ben']['api_key']}"}
    assert (await registry.get("/auth/profile", headers=key)).json()["email"] == "ben@example.org"
    ada = developers["ada"]
    form = {"username": ada["email"], "password": PASSWORD, "totp_code": ada["backup_code"]}
    for status in (200, 401):
        answer = await registry.post("/auth/login", data=form, headers=registry.elsewhere())
        assert answer.status_code == status, answer.text
    recovery = {"email": "cleo@example.org", "recovery_key": developers["cleo"]["recovery_key"]}
    answer = await registry.post("/auth/recover-account", json=recovery, headers=registry.elsewhere())
    assert answer.status_code == 200, answer.text
    licence = {"X-Federation-License": upgraded.expected["licence_key"]}
    assert (await registry.get("/events/?limit=1", headers=licence)).status_code == 200
    body = {"name": "Invited", "email": "invited@example.org", "password": PASSWORD, "tos_accepted": True}
    body |= {"age_confirmed": True, "invite_code": upgraded.expected["invite_code"]}
    answer = await registry.post("/auth/register", json=body, headers=registry.elsewhere())
    assert answer.status_code == 201, answer.text


async def test_a_repeated_transfer_moves_nothing_and_a_new_one_does(upgraded: Upgraded):
    agents_here = upgraded.expected["agents"]
    before = await read_balances(upgraded.registry)
    for order in upgraded.expected["transfers"]:
        payer, payee = await upgraded.agent(order["payer"]), agents_here[order["payee"]]["did"]
        answer = await payer.transfer(
            payee, order["amount"], key=order["key"], message=f"to {order['payee']}"
        )
        assert (answer.status_code, answer.json()) == (200, order["answer"])
    assert await read_balances(upgraded.registry) == before
    alice, bob = await upgraded.agent("alice"), agents_here["bob"]["did"]
    assert (await alice.transfer(bob, "1")).status_code == 200
    after = await read_balances(upgraded.registry)
    assert after[f"{bob} liquid"] == before[f"{bob} liquid"] + units(1)
    for refused in ("revoked", "suspended"):
        assert (await alice.transfer(upgraded.expected[refused], "1")).status_code == 403


async def test_stakes_are_released_and_owed_rewards_are_paid(upgraded: Upgraded):
    registry, carol = upgraded.registry, await upgraded.agent("carol")
    locked = {"amount": "1", "position_id": upgraded.expected["locked_position"]}
    answer = await registry.post("/staking/unstake", json=locked, headers=carol.headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "POSITION_LOCKED")
    answer = await registry.post("/staking/unstake", json={"amount": "2"}, headers=carol.headers)
    assert answer.status_code == 200, answer.text
    claim = (await registry.post("/staking/claim-rewards", headers=carol.headers)).json()
    due = float(claim["amount"]) + float(claim["due"])
    assert due >= float(upgraded.expected["rewards_due_min"])


async def test_a_capability_and_pending_approvals_can_be_used(upgraded: Upgraded):
    registry, alma = upgraded.registry, await upgraded.agent("alma")
    bob = upgraded.expected["agents"]["bob"]["did"]
    token = {**alma.headers, "X-Capability-Token": upgraded.expected["capability"]["token"]}
    body = {"receiver_agent_id": bob, "amount": "1.75"}
    for status in (200, 200, 403):
        assert (await registry.post("/teg/transfer", json=body, headers=token)).status_code == status
    approvals = upgraded.expected["approvals"]
    assert (await alma.transfer(bob, "4", approval_id=approvals["approved"])).status_code == 200
    ada = await upgraded.developer("ada")
    path = f"/agents/{alma.did}/spend-approvals/{approvals['pending']}/approve"
    assert (await registry.post(path, headers=ada.headers)).status_code == 200
    assert (await alma.transfer(bob, "5", approval_id=approvals["pending"])).status_code == 200


async def test_an_open_payment_token_is_settled_and_submitted_work_is_approved(upgraded: Upgraded):
    registry, alice = upgraded.registry, await upgraded.agent("alice")
    bob = upgraded.expected["agents"]["bob"]["did"]
    before = (await read_balances(registry))[f"{bob} liquid"]
    order = {"token": upgraded.expected["token"]}
    headers = {**alice.headers, "Prefer": "wait=5"}
    settled = await registry.post("/a2a-payment/settle", json=order, headers=headers)
    assert (settled.status_code, settled.json()["status"]) == (200, "settled"), settled.text
    path = f"/contracts/{upgraded.expected['contracts'][1]}/approve-completion"
    approved = await registry.post(path, json={}, headers=alice.headers)
    assert (approved.status_code, approved.json()["status"]) == (200, "COMPLETED"), approved.text
    assert (await read_balances(registry))[f"{bob} liquid"] == before + units(2)


async def test_pending_webhooks_and_e_mails_are_sent(upgraded: Upgraded):
    registry, webhook = upgraded.registry, upgraded.expected["webhook"]
    receiver, ben = upgraded.receiver, await upgraded.developer("ben")
    path = f"/api/v1/developers/webhooks/{webhook['id']}"
    moved = await registry.http.put(path, json={"url": receiver.url}, headers=ben.headers)
    assert moved.status_code == 200, moved.text
    await send_due(registry.runtime)
    assert [call.id for call in receiver.received] == webhook["waiting"]
    assert all(call.is_signed_with(webhook["secret"]) for call in receiver.received)
    sent = await registry.outbox()
    assert Counter(upgraded.expected["mails"]) <= Counter(str(mail["To"]) for mail in sent)
    # A request for a new password was pending: its link is sent now.
    assert [mail["To"] for mail in sent if "#token=" in text_of(mail)] == ["cleo@example.org"]


async def test_an_owed_grant_is_paid_from_what_is_issued(upgraded: Upgraded):
    registry, book = upgraded.registry, ledger.Book.of(upgraded.registry.settings)
    did = upgraded.expected["pulled"]["did"]
    assert f"{did} liquid" not in await read_balances(registry)
    order = {"amount": units(100), "ref": "after the upgrade", "amount_max": units(1000), "book": book}
    await registry.database.transaction(lambda tx: ledger.mint(tx, **order))
    await pay_owed_grants(registry.runtime)
    assert (await registry.database.read(lambda tx: ledger.balance_of(tx, did))).liquid == units(100)
    assert (
        Minor(0)
        == (await registry.database.transaction(auditor.audit_from_zero, one_snapshot=True)).supply.delta
    )
