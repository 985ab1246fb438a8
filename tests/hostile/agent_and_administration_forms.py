"""The forms of own agents, by the developer on the stage, and of the administration, by its administrator."""

import itertools
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

from hansa.foundation.plumbing.storage.database import Tx
from tests.hostile import federation_requests
from tests.hostile.children import let_children_be_older, new_child
from tests.hostile.console_forms import FilledForm, form_key
from tests.hostile.proof_requests import registration_form
from tests.images import png
from tests.wallets import TestWallet

SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
AGENT, OFFICE = "POST /account/agents/{did}", "POST /administration"

_numbers = itertools.count(1)

Make = Callable[[Any], Awaitable[FilledForm]]


def _owners(**fields: str) -> Make:
    async def filled(stage: Any) -> FilledForm:
        return FilledForm({"form_key": await form_key(stage.registry, stage.developer), **fields})

    return filled


def _administrators(**fields: str) -> Make:
    async def filled(stage: Any) -> FilledForm:
        return FilledForm({"form_key": await form_key(stage.registry, stage.administrator), **fields})

    return filled


async def _transfer(stage: Any) -> FilledForm:
    return await _owners(receiver=stage.payee.did, amount="0.0001")(stage)


async def _call(stage: Any) -> FilledForm:
    called = {"agent": stage.payee.did, "payer": stage.agent.did, "message": "Hello", "amount": "1"}
    return await _owners(**called)(stage)


async def _payment(stage: Any) -> FilledForm:
    return await _owners(payee=stage.payee.did, amount="0.0001")(stage)


async def _child(stage: Any) -> FilledForm:
    await let_children_be_older(stage)
    return await _owners(name="Helper", funding="0.01", ttl_seconds="3600")(stage)


async def _child_to_end(stage: Any) -> FilledForm:
    return await _owners(child=await new_child(stage))(stage)


async def _bond(stage: Any) -> FilledForm:
    return await _owners(amount=stage.registry.settings.bond_minimum)(stage)


async def forget_flares(stage: Any) -> None:
    """Take the flares of all agents away: each is bought once."""

    async def forget(tx: Tx) -> None:
        await tx.execute("DELETE FROM achievements_selection")
        await tx.execute("DELETE FROM achievements_flare")

    await stage.registry.database.transaction(forget)


async def _flare(stage: Any) -> FilledForm:
    await forget_flares(stage)
    return await _owners(variant="anchor", price="2")(stage)


async def _complaint(stage: Any) -> FilledForm:
    fields = {"defendant_did": stage.payee.did, "reason_code": "OTHER", "description": "Staged"}
    return await _owners(**fields)(stage)


async def _appointment(stage: Any) -> FilledForm:
    """A new developer, to be an owner."""
    appointed = await stage.registry.developer()
    profile = await stage.registry.get("/auth/profile", headers=appointed.headers)
    fields = {"developer_id": str(profile.json()["id"]), "reason": "The owner is lost."}
    return await _administrators(**fields)(stage)


async def _circuit(stage: Any) -> FilledForm:
    return await _administrators(**await registration_form(stage))(stage)


async def _suspension(stage: Any) -> FilledForm:
    agent = await stage.developer.agent(name=f"Stopped in a browser {next(_numbers)}")
    return await _administrators(dids=agent.did, act="suspend", reason="For a test.")(stage)


async def _admission(stage: Any) -> FilledForm:
    return await _administrators(trust_domain=f"browsed{next(_numbers)}.example")(stage)


async def _token(stage: Any) -> FilledForm:
    """A new payment token of the staged agent, which has no other that is unused."""
    unused = "DELETE FROM commerce_payment_token WHERE status = 'authorized' AND hold_id IS NULL"
    await stage.registry.database.transaction(lambda tx: tx.execute(unused))
    body = {"target_agent_did": stage.payee.did, "amount": "0.0001"}
    made = await stage.registry.post("/a2a-payment/authorize", json=body, headers=stage.agent.headers)
    assert made.status_code == 200, made.text
    return await _owners(payment_token=made.json()["token"])(stage)


async def _quote(stage: Any) -> FilledForm:
    """A firm quote of the staged agent, which has no other one."""
    await stage.registry.database.transaction(lambda tx: tx.execute("DELETE FROM commerce_firm_quote"))
    return await _owners(payee=stage.payee.did, amount="0.0001")(stage)


async def _signed_wallet(stage: Any) -> FilledForm:
    await _forget_wallets(stage)
    return await _owners(**await TestWallet().signed_challenge(stage.agent))(stage)


async def _bound_wallet(stage: Any) -> FilledForm:
    await _forget_wallets(stage)
    wallet = TestWallet()
    assert (await wallet.bind(stage.agent)).is_success
    return await _owners(address=wallet.address)(stage)


async def _challenged_wallet(stage: Any) -> FilledForm:
    await _forget_wallets(stage)
    return await _owners(address=TestWallet().address)(stage)


async def _forget_wallets(stage: Any) -> None:
    """How many wallets an agent binds in an hour is not the question of these tests."""
    for statement in (
        "DELETE FROM agents_wallet",
        "DELETE FROM plumbing_rate_limit WHERE bucket LIKE 'wallet-binding%'",
    ):
        await stage.registry.database.transaction(lambda tx, statement=statement: tx.execute(statement))


async def _locked_units(stage: Any) -> FilledForm:
    return await _owners(receiver=f"did:hansa:elsewhere.example:{uuid4()}", amount="0.0001")(stage)


async def _redeemed_units(stage: Any) -> FilledForm:
    receiver = f"did:hansa:elsewhere.example:{uuid4()}"
    fields = {"wrapped_currency": "AVT.elsewhere.example", "redeemed": "0.0001", "home_receiver": receiver}
    return await _owners(**fields)(stage)


async def _narrower(stage: Any) -> FilledForm:
    given = "UPDATE people_session SET proved_at = now() WHERE browser_token_hash IS NOT NULL"
    await stage.registry.database.transaction(lambda tx: tx.execute(given))
    return await _owners(permissions="teg.transfer", budget_total="1", ttl_seconds="60", payees="")(stage)


async def _authorization(stage: Any) -> FilledForm:
    await stage.registry.database.transaction(lambda tx: tx.execute("DELETE FROM federation_authorization"))
    fields = {"action": "fiat.lane", "authority": "Example authority", "subject": "hansa.local"}
    return await _administrators(**fields, tier="reference", reference="Register no. 42")(stage)


async def _burn(stage: Any) -> FilledForm:
    return await _administrators(burned="0.01", burn_ref=f"staged {next(_numbers)}")(stage)


async def _issue(stage: Any) -> FilledForm:
    return await _administrators(amount="1", ref=f"staged {next(_numbers)}")(stage)


async def _grant(stage: Any) -> FilledForm:
    return await _administrators(payee=stage.payee.did, granted="0.01", grant_ref="Staged")(stage)


async def _correction(stage: Any) -> FilledForm:
    fields = {
        "corrected": stage.payee.did,
        "correction": "0.01",
        "direction": "debit",
        "correction_ref": uuid4().hex,
    }
    return await _administrators(**fields)(stage)


async def _compounding(stage: Any) -> FilledForm:
    return await _owners(position_id="stake-1", auto_compound="on")(stage)


async def _invitation(stage: Any) -> FilledForm:
    accepted = await federation_requests.accepted(stage)
    return await _administrators(**accepted, net_in_limit="5")(stage)


async def _icon(stage: Any) -> FilledForm:
    filled = await _administrators()(stage)
    return replace(filled, files={"file": ("icon.png", png(1, 1))})


AGENT_AND_ADMINISTRATION_FORMS: dict[str, Make] = {
    "POST /account/call": _call,
    f"{AGENT}/wallet/send": _transfer,
    f"{AGENT}/wallet/send/check": _transfer,
    f"{AGENT}/children": _child,
    f"{AGENT}/children/check": _child,
    f"{AGENT}/children/end": _child_to_end,
    f"{AGENT}/wallet/stakes": _owners(amount="10", lock_period="0"),
    f"{AGENT}/wallet/stakes/release": _owners(released="0.01"),
    f"{AGENT}/wallet/stakes/claim": _owners(),
    f"{AGENT}/wallet/stakes/compound": _compounding,
    f"{AGENT}/governance": _owners(title="Staged", description="Staged.", days="1"),
    f"{AGENT}/governance/{{proposal_id}}": _owners(vote="for"),
    f"{AGENT}/governance/{{proposal_id}}/cancel": _owners(),
    f"{AGENT}/wallet/quotes": _quote,
    f"{AGENT}/wallet/x402": _signed_wallet,
    f"{AGENT}/wallet/x402/challenge": _challenged_wallet,
    f"{AGENT}/wallet/x402/unbind": _bound_wallet,
    f"{AGENT}/wallet/bridge/lock": _locked_units,
    f"{AGENT}/wallet/bridge/redeem": _redeemed_units,
    f"{AGENT}/wallet/bridge/{{saga_id:uuid}}/ask": _owners(),
    f"{AGENT}/capabilities/{{capability_id:uuid}}/narrow": _narrower,
    f"{AGENT}/wallet/tokens": _payment,
    f"{AGENT}/wallet/tokens/check": _payment,
    f"{AGENT}/wallet/tokens/settle": _token,
    f"{AGENT}/wallet/tokens/{{token_id:uuid}}/release": _owners(),
    f"{AGENT}/achievements/buy": _flare,
    f"{AGENT}/achievements/select": _owners(),
    f"{AGENT}/achievements/shown": _owners(shown="true"),
    f"{AGENT}/attestations/{{attestation}}/revoke": _owners(),
    f"{AGENT}/wallet/bond/{{act}}": _bond,
    f"{AGENT}/contracts": _owners(
        title="Staged", contract_type="service", amount="1", terms="Staged", acceptance_criteria="Staged"
    ),
    f"{AGENT}/contracts/{{contract_id:int}}": _owners(act="cancel"),
    f"{AGENT}/contracts/{{contract_id:int}}/page-link": _owners(),
    f"{AGENT}/disputes": _complaint,
    f"{AGENT}/disputes/{{dispute_id:int}}/evidence": _owners(sha256=SHA256),
    f"{OFFICE}/agents/check": _suspension,
    f"{OFFICE}/agents/act": _suspension,
    f"{OFFICE}/developers/{{developer_id:int}}/{{act}}": _administrators(reason="For a test."),
    f"{OFFICE}/disputes/{{dispute_id:int}}/open-voting": _administrators(),
    f"{OFFICE}/disputes/{{dispute_id:int}}/ruling": _administrators(ruling="DISMISSED"),
    f"{OFFICE}/disputes/{{dispute_id:int}}/ruling/check": _administrators(ruling="DISMISSED"),
    f"{OFFICE}/awards/{{dispute_id:int}}/approve": _administrators(),
    f"{OFFICE}/awards/{{dispute_id:int}}/reject": _administrators(reason="For a test."),
    f"{OFFICE}/attestations/{{attestation}}/revoke": _administrators(),
    f"{OFFICE}/circuits": _circuit,
    f"{OFFICE}/circuits/{{circuit_id}}/retire": _administrators(),
    f"{OFFICE}/events/{{event_type}}": _administrators(emit_from_teg="yes", emit_from_registry="yes"),
    f"{OFFICE}/governance/{{proposal_id:int}}/{{act}}": _administrators(reason="For a test."),
    f"{OFFICE}/governance/parameters/{{name}}/reset": _administrators(reason="For a test."),
    f"{OFFICE}/incidents": _administrators(
        kind="incident", title="Staged", body="Staged.", components="ledger"
    ),
    f"{OFFICE}/incidents/{{incident_id:uuid}}": _administrators(state="monitoring", body="Staged."),
    f"{OFFICE}/showcase": _administrators(pinned=""),
    f"{OFFICE}/listings/{{ref}}/{{act}}": _administrators(reason="For a test."),
    f"{OFFICE}/trading/{{ref}}/{{act}}": _administrators(reason="For a test."),
    f"{OFFICE}/snapshot": _administrators(),
    f"{OFFICE}/reactors/{{name}}/retry": _administrators(),
    f"{OFFICE}/organizations/{{organization_id}}/owners": _appointment,
    f"{OFFICE}/support/{{ticket_id:uuid}}/messages": _administrators(body="Staged", internal="false"),
    f"{OFFICE}/support/{{ticket_id:uuid}}/change": _administrators(priority="high"),
    f"{OFFICE}/invites": _administrators(count="1"),
    f"{OFFICE}/invites/{{invite_id}}/revoke": _administrators(),
    f"{OFFICE}/jobs/{{job_id:int}}/{{act}}": _administrators(),
    f"{OFFICE}/licences": _administrators(trust_domain="hansa.local", name="north", plan="operator-free"),
    f"{OFFICE}/licences/genesis": _administrators(),
    f"{OFFICE}/licences/{{lid}}/{{act}}": _administrators(reason="For a test."),
    f"{OFFICE}/admissions": _admission,
    f"{OFFICE}/admissions/{{licence_id:uuid}}/{{act}}": _administrators(reason="For a test."),
    f"{OFFICE}/registry-card": _administrators(description="A registry for tests."),
    f"{OFFICE}/registry-card/icon": _icon,
    f"{OFFICE}/administrators/{{developer_id:int}}": _administrators(
        version="admin_support", areas="admin_treasury", reason="For a test."
    ),
    f"{OFFICE}/jurisdiction": _authorization,
    f"{OFFICE}/jurisdiction/{{authorization_id:uuid}}/withdraw": _administrators(),
    f"{OFFICE}/keys/{{kind}}/rotate": _administrators(registry_reason="For a test."),
    f"{OFFICE}/peers/accept": _invitation,
    f"{OFFICE}/peers/accept/check": _invitation,
    f"{OFFICE}/peers/invite": _administrators(expires_in="3600", address="https://other.example.com"),
    f"{OFFICE}/peers/invitations/{{jti:uuid}}/revoke": _administrators(),
    f"{OFFICE}/peers/{{peer_id:int}}/limit": _administrators(net_in_limit="5"),
    f"{OFFICE}/peers/{{peer_id:int}}/remove": _administrators(typed_name="other"),
    f"{OFFICE}/peers/{{peer_id:int}}/{{act}}": _administrators(),
    f"{OFFICE}/pools": _administrators(peer="999999", reserve_own="10", reserve_foreign="10"),
    f"{OFFICE}/pools/check": _administrators(peer="999999", reserve_own="10", reserve_foreign="10"),
    f"{OFFICE}/pools/{{peer_id:int}}/{{act}}": _administrators(amount="1"),
    f"{OFFICE}/pools/{{peer_id:int}}/{{act}}/check": _administrators(amount="1"),
    f"{OFFICE}/slash-requests/limits/{{peer_id:int}}": _administrators(auto_slash_max_avt="5"),
    f"{OFFICE}/slash-requests/{{settlement_id:int}}/{{act}}": _administrators(),
    f"{OFFICE}/treasury/issue": _issue,
    f"{OFFICE}/treasury/burn": _burn,
    f"{OFFICE}/treasury/burn/check": _burn,
    f"{OFFICE}/treasury/grant": _grant,
    f"{OFFICE}/treasury/correct": _correction,
    f"{OFFICE}/treasury/baseline": _administrators(baseline="12.5", baseline_ref="For a test."),
    f"{OFFICE}/treasury/transit": _administrators(transit_ref="For a test."),
}
