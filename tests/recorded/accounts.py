"""Recorded: accounts of developers, two-factor login, API keys, webhooks, deletion."""

import time
from typing import Any

import pyotp

from tests.recorded.parties import Parties, bearer, developer, login, registration
from tests.recorded.recorder import ANYONE, Caller, Recorder
from tests.registry import PASSWORD

NEW_PASSWORD = "Another-Horse-9-Stable"
HOOK = {"url": "https://receiver.example.com/hook", "event_types": ["agent.onboarded"]}


async def record_accounts(record: Recorder, by: Parties) -> None:
    """Everything about a developer's account; Dora and Emil come and go."""
    await _registrations(record)
    dora = await _sessions(record)
    await _second_factor(record, dora)
    await _api_keys(record, by)
    await _webhooks(record, by)
    await _deletion(record, by)


async def _registrations(record: Recorder) -> None:
    await record.ask("GET", "/auth/registration-config")
    await record.ask("GET", "/auth/verify-email?token=unknown")
    for more in (
        {"name": "Ada"}, {"email": "ADA@example.org"}, {"email": "no address"}, {"password": "short"},
        {"password": "all-lower-case-1"}, {"tos_accepted": False}, {"age_confirmed": False}, {"name": "Аda"},
        {"invite_code": "HANSA-0000-0000-0000-0000"},
    ):  # fmt: skip
        await record.ask("POST", "/auth/register", json={**registration("Dora"), **more})
    await record.ask("POST", "/auth/register", json={})


async def _sessions(record: Recorder) -> Caller:
    dora = await developer(record, "Dora")
    for form in ({"username": "dora@example.org", "password": "wrong"}, {"username": "dora@example.org"}):
        await record.ask("POST", "/auth/login", data=form)
    form = {"username": "dora@example.org", "password": PASSWORD}
    tokens = (await record.ask("POST", "/auth/login", data=form)).json()
    for _ in range(2):
        refresh = {"refresh_token": tokens["refresh_token"]}
        await record.ask("POST", "/auth/refresh", json=refresh)
    sessions = (await record.ask("GET", "/auth/sessions", dora)).json()["items"]
    await record.ask("DELETE", "/auth/sessions/1b4e28ba-2fa1-41d2-883f-0016d3cca427", dora)
    await record.ask("GET", "/auth/profile", bearer("Dora's second session", tokens["access_token"]))
    assert sessions
    await record.ask("GET", "/auth/profile", dora)
    await record.ask("POST", "/auth/forgot-password", json={"email": "nobody@example.org"})
    renewed = {"password": PASSWORD, "code": None}
    keys = (await record.ask("POST", "/auth/recovery-keys", dora, json=renewed)).json()
    recovery = {"email": "dora@example.org", "recovery_key": keys["recovery_keys"][0]}
    for _ in range(2):
        answer = await record.ask("POST", "/auth/recover-account", json=recovery)
        if answer.status_code == 200:
            setter = bearer("password setter", answer.json()["access_token"])
    for password in ("short", NEW_PASSWORD, NEW_PASSWORD):
        await record.ask("POST", "/auth/set-new-password", setter, json={"new_password": password})
    await record.ask("GET", "/auth/profile", dora)
    dora = await login(record, "Dora", "dora@example.org", NEW_PASSWORD)
    wrong = {"current_password": "Wrong-Horse-7-Battery", "new_password": PASSWORD}
    await record.ask("POST", "/auth/change-password", dora, json=wrong)
    return dora


async def _second_factor(record: Recorder, dora: Caller) -> None:
    await record.ask("POST", "/auth/2fa/verify", dora, json={"code": "123456"})
    seed = (await record.ask("POST", "/auth/2fa/setup", dora)).json()["secret"]
    # The code is replaced in the record by its own placeholder: it depends on the time.
    code = pyotp.TOTP(seed).at(int(time.time()))
    with record.hiding(code, "<totp>"):
        verified = await record.ask("POST", "/auth/2fa/verify", dora, json={"code": code})
    backup, second = verified.json()["backup_codes"][:2]
    await record.ask("POST", "/auth/2fa/setup", dora)
    form = {"username": "dora@example.org", "password": NEW_PASSWORD}
    half = (await record.ask("POST", "/auth/login", data=form)).json()["partial_token"]
    for given in ("no code", backup, backup):
        body = {"partial_token": half, "code": given}
        await record.ask("POST", "/auth/2fa/validate", json=body)
    for given in ("no code", second):
        body = {"password": NEW_PASSWORD, "code": given}
        await record.ask("POST", "/auth/2fa/disable", dora, json=body)
    await record.ask("POST", "/auth/2fa/disable", dora, json={"password": NEW_PASSWORD, "code": second})
    await record.ask("POST", "/auth/2fa/recover", dora, json={"recovery_key": "avrec-0-0-0"})
    await record.ask("POST", "/auth/logout", dora)
    await record.ask("GET", "/auth/profile", dora)


async def _api_keys(record: Recorder, by: Parties) -> None:
    async def make(body: Any, caller: Caller = by.ada) -> dict[str, Any]:
        return (await record.ask("POST", "/auth/api-keys", caller, json=body)).json()

    narrow = await make({"key_name": "Narrow", "scopes": ["profile:read"], "expires_in_days": 30})
    broad = await make({"key_name": "Broad", "scopes": None, "expires_in_days": 0})
    await make("Bare name")
    for refused in (
        {"key_name": ""},
        {"key_name": "x", "scopes": ["all"]},
        {"key_name": "x", "expires_in_days": -1},
    ):
        await make(refused)
    narrow_key = bearer("narrow API key of Ada", narrow["plain_api_key"])
    broad_key = bearer("broad API key of Ada", broad["plain_api_key"])
    await make({"key_name": "Broader", "scopes": ["agents:write"]}, narrow_key)
    for key in (narrow_key, broad_key):
        for path in ("/auth/profile", "/agents?limit=1", "/auth/api-keys?limit=1"):
            await record.ask("GET", path, key)
    number = narrow["api_key_info"]["id"]
    for caller in (by.ben, by.ada, by.ada):
        await record.ask("DELETE", f"/auth/api-keys/{number}", caller)
    await record.ask("GET", "/auth/profile", narrow_key)
    await record.ask("GET", "/auth/api-keys?limit=2", by.ada)


async def _webhooks(record: Recorder, by: Parties) -> None:
    made = (await record.ask("POST", "/developers/webhooks", by.ben, json=HOOK)).json()
    path = f"/developers/webhooks/{made['id']}"
    for body in (
        {**HOOK, "url": "http://receiver.example.com"}, {**HOOK, "url": "https://127.0.0.1/"},
        {**HOOK, "event_types": []}, {**HOOK, "event_types": ["agent.unheard"]}, {},
    ):  # fmt: skip
        await record.ask("POST", "/developers/webhooks", by.ben, json=body)
    await record.ask("PUT", path, by.ben, json={"event_types": ["*"], "description": "Everything"})
    await record.ask("POST", f"{path}/test", by.ben)
    deliveries = await record.ask("GET", f"{path}/deliveries", by.ben)
    delivery = deliveries.json()["items"][0]["id"]
    await record.ask("POST", f"{path}/deliveries/{delivery}/resend", by.ben)
    await record.ask("POST", f"{path}/rotate-secret", by.ben)
    await record.ask("GET", path, by.ada)
    await record.ask("PUT", path, by.ben, json={"is_active": False})
    await record.ask("POST", f"{path}/test", by.ben)
    await record.ask("GET", "/developers/webhooks", by.ben)
    for _ in range(2):
        await record.ask("DELETE", path, by.ben)


async def _deletion(record: Recorder, by: Parties) -> None:
    emil = await developer(record, "Emil")
    for method, path in (
        ("GET", "/account/deletion-status"), ("POST", "/account/cancel-deletion"), ("POST", "/account/request-deletion"),
        ("POST", "/account/request-deletion"), ("GET", "/account/deletion-status"), ("POST", "/account/cancel-deletion"),
    ):  # fmt: skip
        await record.ask(method, path, emil)
    await record.ask("POST", "/account/request-deletion", by.ben)
    await record.ask("POST", "/account/request-deletion", ANYONE)
