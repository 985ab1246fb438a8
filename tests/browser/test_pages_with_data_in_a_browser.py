"""Public pages of acts between registries and agents, filled with long names: a pool, a peer, a contract, a receipt."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import Page, expect

from hansa.rooms import federation
from tests.browser.accessibility import FAINT_TEXTS, WIDTH, objections
from tests.browser.conftest import OpenPage
from tests.hostile.credentials import peer_of
from tests.registry import TestRegistry

PEER = f"{'w' * 50}.registry-with-a-long-name.example"
UNBROKEN = "unbroken" * 20
VERDICTS = [
    {"step": "schema", "ok": True, "reason": "every member is one of registry card 0.6"},
    {"step": "name", "ok": False, "reason": f"card_name_mismatch: {UNBROKEN}"},
]
POOL = """
INSERT INTO transfers_pool (peer, frame, currency, is_home, mode, reserve_own, reserve_foreign)
SELECT spiffe_id, ledger_id, 'LONGCURR', true, 'pool', 1234567800000000, 987654300000001 FROM federation_peer
"""
MINUTES = """
INSERT INTO transfers_pool_minute (peer, minute, reserve_own, reserve_foreign, swaps, fees_own, fees_foreign)
SELECT peer, date_trunc('minute', now()) - n * interval '17 minutes', reserve_own - n * 1000000007, reserve_foreign + n * 999999937,
  (n + 1)::int, 12345678 * (n + 1), 87654321 FROM transfers_pool CROSS JOIN generate_series(0, 11::bigint) n
"""


async def peer_with_a_pool(registry: TestRegistry) -> None:
    """A peer of which things were refused, whose card does not hold, and a pool with it in which swaps were made for hours."""
    await peer_of(registry, PEER)

    async def fill(tx) -> None:
        await tx.execute(
            "UPDATE federation_peer SET card_verdicts = $1, last_synced_at = now(), trouble = 'circuit_open'",
            json.dumps(VERDICTS),
        )
        peer = await federation.peer_by_name(tx, PEER)
        await federation.count_refusal(tx, peer.id, "bundle_root_collision", 12_345)
        await federation.count_refusal(tx, peer.id, "card_name_mismatch")
        await tx.execute(POOL)
        await tx.execute(MINUTES)

    await registry.database.transaction(fill)


async def contract_and_receipt(registry: TestRegistry) -> tuple[str, str]:
    """The paths of a public contract whose work was submitted, and of a receipt."""
    payer, payee = await registry.agent(), await registry.agent()

    async def post(path: str, body: dict, headers: dict) -> dict:
        answer = await registry.post(path, json=body, headers=headers)
        assert answer.status_code < 300, answer.text
        return answer.json()

    proposed = {
        "provider_did": payee.did,
        "title": f"Certificate of {UNBROKEN}",
        "contract_type": "attestation",
        "amount": "12.34567891",
        "terms": {"clauses": [UNBROKEN, {"within": "Two days", "amount": 0.5}]},
        "acceptance_criteria": UNBROKEN,
        "review_by": (datetime.now(UTC) + timedelta(days=2)).isoformat(),
        "milestones": [{"title": UNBROKEN, "amount": "12.34567891"}],
    }
    contract = await post("/contracts", proposed, payer.headers)
    path = f"/contracts/{contract['id']}"
    await post(f"{path}/accept", {}, payee.headers)
    work = {
        "milestone": 0,
        "sha256": "c" * 64,
        "uri": f"https://agent.example.org/{UNBROKEN}",
        "note": UNBROKEN,
    }
    await post(f"{path}/submit", work, payee.headers)
    asked = {
        "target_agent_did": payee.did,
        "amount": "0.01",
        "resource": f"https://agent.example.org/{UNBROKEN}",
    }
    token = await post("/a2a-payment/authorize", asked, payer.headers)
    await post(
        "/a2a-payment/settle",
        {"token": token["token"], "task_id": "7"},
        {**payer.headers, "Prefer": "wait=10"},
    )
    return path, f"/pay/{token['token_id']}"


@pytest.fixture
async def pages(registry: TestRegistry) -> dict[str, tuple[str, str]]:
    """The title of each page and a text of its data that needs no script."""
    await peer_with_a_pool(registry)
    contract, receipt = await contract_and_receipt(registry)
    return {
        "/swaps": ("Swaps", "LONGCURR for 1 AVT"),
        f"/federation/peers/{PEER}": ("peer", "bundle_root_collision"),
        "/federation": ("Federation", PEER),
        contract: (f"Contract {contract.rpartition('/')[2]}", "12.34567891"),
        receipt: ("Receipt", "Signed receipt"),
    }


async def test_public_pages_with_data_are_accessible_titled_and_no_wider_than_the_window_without_a_script_too(
    pages: dict[str, tuple[str, str]], visit: OpenPage
):
    opened = await visit("/livez")
    plain = await visit("/livez", java_script_enabled=False)
    found = {
        path: await findings(path, title, text, opened.page, plain.page)
        for path, (title, text) in pages.items()
    }
    assert found == {path: [] for path in pages}
    assert (opened.strangers, opened.complaints) == ([], [])


async def findings(path: str, title: str, text: str, page: Page, plain: Page) -> list[str]:
    """Return the faults of a page at a desk and on a telephone, by day and by night, and in a browser without scripts."""
    found: list[str] = []
    await page.set_viewport_size({"width": 1280, "height": 800})
    await page.goto(path)
    await page.wait_for_load_state("networkidle")
    shown = (await page.title()).partition(" · ")[0]
    found += [f"the title is {shown}"] if shown != title else []
    found += await objections(page)
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        found += await page.evaluate(FAINT_TEXTS)
    await page.set_viewport_size({"width": 390, "height": 844})
    # Plots are drawn anew in the next frame.
    await page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    width = await page.evaluate(WIDTH)
    found += [f"{width} pixels wide on a telephone"] if width > 390 else []
    await plain.goto(path)
    await expect(plain.locator("main")).to_contain_text(text)
    return found
