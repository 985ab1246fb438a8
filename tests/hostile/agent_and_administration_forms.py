"""The forms of own agents, by the developer on the stage, and of the administration, by its administrator."""

import itertools
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from tests.hostile import federation_requests
from tests.hostile.console_forms import FilledForm, form_key
from tests.images import png

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


async def _bond(stage: Any) -> FilledForm:
    return await _owners(amount=stage.registry.settings.bond_minimum)(stage)


async def _complaint(stage: Any) -> FilledForm:
    fields = {"defendant_did": stage.payee.did, "reason_code": "OTHER", "description": "Staged"}
    return await _owners(**fields)(stage)


async def _suspension(stage: Any) -> FilledForm:
    agent = await stage.developer.agent(name=f"Stopped in a browser {next(_numbers)}")
    return await _administrators(dids=agent.did, act="suspend", reason="For a test.")(stage)


async def _admission(stage: Any) -> FilledForm:
    return await _administrators(trust_domain=f"browsed{next(_numbers)}.example")(stage)


async def _issue(stage: Any) -> FilledForm:
    return await _administrators(amount="1", ref=f"staged {next(_numbers)}")(stage)


async def _grant(stage: Any) -> FilledForm:
    return await _administrators(payee=stage.payee.did, granted="0.01", grant_ref="Staged")(stage)


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
    f"{AGENT}/wallet/stakes": _owners(amount="10", lock_period="0"),
    f"{AGENT}/wallet/stakes/release": _owners(released="0.01"),
    f"{AGENT}/wallet/tokens": _payment,
    f"{AGENT}/wallet/tokens/check": _payment,
    f"{AGENT}/wallet/tokens/{{token_id:uuid}}/release": _owners(),
    f"{AGENT}/wallet/bond/{{act}}": _bond,
    f"{AGENT}/contracts": _owners(
        title="Staged", contract_type="service", amount="1", terms="Staged", acceptance_criteria="Staged"
    ),
    f"{AGENT}/contracts/{{contract_id:int}}": _owners(act="cancel"),
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
    f"{OFFICE}/events/{{event_type}}": _administrators(emit_from_teg="yes", emit_from_registry="yes"),
    f"{OFFICE}/snapshot": _administrators(),
    f"{OFFICE}/reactors/{{name}}/retry": _administrators(),
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
    f"{OFFICE}/treasury/grant": _grant,
    f"{OFFICE}/treasury/baseline": _administrators(baseline="12.5", baseline_ref="For a test."),
    f"{OFFICE}/treasury/transit": _administrators(transit_ref="For a test."),
}
