"""The forms of the console as its own pages send them, for the developer on the stage."""

import itertools
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pyotp

from hansa.doors.console.access import new_form_key
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.values.secrets import fingerprint
from hansa.rooms import catalogue, people
from hansa.rooms.people.oauth.clients import register_client
from hansa.rooms.people.two_factor.setup import close_seed
from tests.built_agents import asked
from tests.connections import REDIRECT, pkce
from tests.hostile import (
    exchange_requests,
    organization_requests,
    phone_requests,
    pipeline_requests,
    release_requests,
    support_requests,
    work_order_requests,
)
from tests.registry import PASSWORD, TestDeveloper, TestRegistry, card_of

BACKUP_CODE = "00000000000000000000"

_numbers = itertools.count(1)

# Their permissions are those of every route of agents. A form that changes the roles of the staged agent leaves it these.
ROLES = ("trader", "client", "service-provider")


@dataclass(frozen=True)
class FilledForm:
    """The fields of a form, its file, and cookies besides that of a session."""

    fields: Mapping[str, str | list[str]]
    cookies: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, tuple[str, bytes]] | None = None


def headers_of_a_page(registry: TestRegistry) -> dict[str, str]:
    """Return the headers that a browser sends with a form of a page of the registry."""
    return {"Origin": registry.settings.base_url, "Sec-Fetch-Site": "same-origin"}


async def form_key(registry: TestRegistry, developer: TestDeveloper) -> str:
    """The key of a form that this developer has open."""
    row = await registry.database.read(
        lambda tx: tx.fetchrow(
            "SELECT id, clock_timestamp() AS now FROM people_developer WHERE email = $1", developer.email
        )
    )
    return new_form_key(registry.runtime.seal, row["id"], row["now"])


async def _keyed(stage: Any, **fields: str) -> FilledForm:
    return FilledForm({"form_key": await form_key(stage.registry, stage.developer), **fields})


async def _login(stage: Any) -> FilledForm:
    return FilledForm({"email": (await stage.registry.developer()).email, "password": PASSWORD})


async def _empty(stage: Any) -> FilledForm:
    return FilledForm({"next": ""})


async def _passkey() -> FilledForm:
    return FilledForm({"credential": "{}"})


async def _anybodys(stage: Any, **fields: str) -> FilledForm:
    """A form that needs no login, opened now."""
    now = await stage.registry.database.query(clock.now)
    return FilledForm({"form_key": new_form_key(stage.registry.runtime.seal, None, now), **fields})


async def _proved(stage: Any, **fields: str) -> FilledForm:
    """A form of a person who gave the password a moment ago."""
    await _act(stage, "UPDATE people_session SET proved_at = now() WHERE browser_token_hash IS NOT NULL")
    return await _keyed(stage, **fields)


async def _act(stage: Any, statement: str, *values: Any) -> None:
    await stage.registry.database.transaction(lambda tx: tx.execute(statement, *values))


async def _sign_up(stage: Any) -> FilledForm:
    number = next(_numbers)
    return await _anybodys(
        stage,
        name=f"Visitor {number}",
        email=f"visitor-{number}@example.net",
        password=PASSWORD,
        tos_accepted="true",
        age_confirmed="true",
    )


async def _forgotten(_: Any) -> FilledForm:
    return FilledForm({"email": f"forgetful-{next(_numbers)}@example.net"})


async def _newcomer(stage: Any) -> tuple[str, str]:
    """The address and a recovery key of a new account."""
    body: dict[str, Any] = dict((await _sign_up(stage)).fields)
    del body["form_key"]
    body |= {"tos_accepted": True, "age_confirmed": True}
    answer = await stage.registry.post("/auth/register", json=body, headers=stage.registry.elsewhere())
    assert answer.status_code == 201, answer.text
    return body["email"], answer.json()["recovery_keys"][0]


async def _recovery(stage: Any) -> FilledForm:
    email, key = await _newcomer(stage)
    return await _anybodys(stage, email=email, recovery_key=key)


async def _new_password(stage: Any) -> FilledForm:
    email, key = await _newcomer(stage)
    body = {"email": email, "recovery_key": key}
    answer = await stage.registry.post("/auth/recover-account", json=body, headers=stage.registry.elsewhere())
    fields = {"password_token": answer.json()["access_token"], "new_password": "Another-Horse-9-Stable"}
    return FilledForm(fields)


async def _second_factor_recovery(stage: Any) -> FilledForm:
    await _have_everybody_use_codes(stage)
    token, key = f"hpt_browser_{next(_numbers)}", f"avrec-{next(_numbers)}"
    begun = (
        "INSERT INTO people_partial_token (token_hash, developer_id, expires_at)"
        " SELECT $1, min(id), now() + interval '5 minutes' FROM people_developer"
    )
    await _act(stage, begun, fingerprint(token))
    given = "INSERT INTO people_recovery_key (developer_id, key_hash) SELECT id, $1 FROM people_developer"
    await _act(stage, given, fingerprint(key))
    return FilledForm({"recovery_key": key}, {"hansa_login": token})


async def _have_everybody_use_codes(stage: Any) -> None:
    await _act(
        stage,
        "INSERT INTO people_second_factor (developer_id, sealed_seed, enabled_at)"
        " SELECT id, '', now() FROM people_developer"
        " ON CONFLICT (developer_id) DO UPDATE SET enabled_at = now(), paused_until = NULL",
    )
    await _act(
        stage,
        "INSERT INTO people_backup_code (developer_id, code_hash) SELECT id, $1 FROM people_developer"
        " ON CONFLICT DO NOTHING",
        fingerprint(BACKUP_CODE),
    )
    await _forget_tries(stage)


async def _forget_tries(stage: Any) -> None:
    """The password of an account is proved ten times a minute at most."""
    await _act(stage, "DELETE FROM plumbing_rate_limit WHERE bucket LIKE 'login-account:%'")


async def _changed_password(stage: Any) -> FilledForm:
    await _forget_tries(stage)
    return await _keyed(stage, current_password=PASSWORD, new_password="Another-Horse-9-Stable")


async def _renewed_keys(stage: Any) -> FilledForm:
    await _forget_tries(stage)
    await _act(stage, "DELETE FROM people_second_factor")
    profile = await _read(stage, "/auth/profile")
    return await _keyed(stage, password=PASSWORD, version=profile["recovery_keys_version"])


async def _app(stage: Any) -> FilledForm:
    await _act(stage, "DELETE FROM people_second_factor")
    return await _keyed(stage)


async def _first_code(stage: Any) -> FilledForm:
    seed = pyotp.random_base32()
    people = await stage.registry.database.read(lambda tx: tx.fetch("SELECT id FROM people_developer"))
    await _act(stage, "DELETE FROM people_second_factor")
    for person in people:
        await _act(
            stage,
            "INSERT INTO people_second_factor (developer_id, sealed_seed) VALUES ($1, $2)",
            person["id"],
            close_seed(stage.registry.runtime.seal, person["id"], seed),
        )
    return await _keyed(stage, code=pyotp.TOTP(seed).now())


async def _end_of_app(stage: Any) -> FilledForm:
    await _have_everybody_use_codes(stage)
    return await _keyed(stage, password=PASSWORD, code=BACKUP_CODE)


async def _key(stage: Any) -> FilledForm:
    spent = (
        "UPDATE people_api_key SET revoked_at = now() WHERE description = 'Console' AND revoked_at IS NULL"
    )
    await _act(stage, spent)
    return await _proved(stage, key_name="Console", scopes="*", expires_in_days="1")


async def _webhook(stage: Any) -> FilledForm:
    await _act(stage, "DELETE FROM notifications_webhook")
    return await _proved(stage, url="https://receiver.example.com/hook", event_types="*")


async def _read(stage: Any, path: str) -> Any:
    answer = await stage.registry.get(path, headers=stage.developer.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def _replaced_secret(stage: Any) -> FilledForm:
    spare = await stage.registry.database.read(
        lambda tx: tx.fetchrow(
            "SELECT name, secret_number::text AS version FROM agents_agent WHERE did = $1", stage.spare.did
        )
    )
    return await _proved(stage, version=spare["version"], typed_name=spare["name"])


async def _replaced_key(stage: Any) -> FilledForm:
    return await _proved(stage, version=(await _read(stage, f"/agents/{stage.agent.did}/public-key"))["kid"])


async def _replaced_webhook_secret(stage: Any) -> FilledForm:
    newest = (await _read(stage, "/developers/webhooks"))["items"][-1]
    return await _proved(stage, version=newest["secret_version"])


async def _card(stage: Any, **fields: str) -> FilledForm:
    return await _keyed(stage, card=json.dumps(card_of(f"Reviewed {next(_numbers)}")), **fields)


async def _new_agent(stage: Any) -> FilledForm:
    return await _proved(stage, card=json.dumps(card_of(f"Console {next(_numbers)}")))


async def _card_fields(stage: Any) -> FilledForm:
    return await _keyed(
        stage,
        name="Scribe",
        description="Writes summaries.",
        url="https://scribe.example.org/a2a",
        version="1.0.0",
        skill_name="Summary",
        skill_description="Writes one summary.",
    )


async def _edited_card(stage: Any) -> FilledForm:
    card = await stage.registry.database.read(lambda tx: catalogue.card_of(tx, stage.agent.did))
    return await _keyed(stage, card=json.dumps(card.card_data), state=card.state)


async def _rights(stage: Any) -> FilledForm:
    filled = await _proved(stage)
    return FilledForm({**filled.fields, "roles": list(ROLES)})


async def _capability(stage: Any) -> FilledForm:
    await _act(stage, "UPDATE agents_agent SET roles = $2 WHERE did = $1", stage.agent.did, list(ROLES))
    return await _proved(stage, permissions="teg.transfer", budget_total="1", ttl_seconds="60", payees="")


def authorization_query(stage: Any) -> dict[str, str]:
    """The parameters of a client that asks for access."""
    runtime = stage.registry.runtime
    client = register_client(runtime.tokens, runtime.settings, [REDIRECT], "Staged")
    return {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": REDIRECT,
        "code_challenge": pkce()[1],
        "code_challenge_method": "S256",
    }


async def _run(stage: Any) -> FilledForm:
    """A read as an own agent, with a value in path and query."""
    given = {"as": stage.agent.did, "path:agent_did": stage.agent.did, "query:limit": "5"}
    return await _keyed(stage, **given)


async def _refused_access(stage: Any) -> FilledForm:
    """The consent of the first browser session of the staged developer, which is the credential of the table."""
    runtime = stage.registry.runtime
    asked = await people.read_request(runtime, list(authorization_query(stage).items()))
    row = await stage.registry.database.read(
        lambda tx: tx.fetchrow(
            "SELECT s.id, clock_timestamp() AS now FROM people_session s JOIN people_developer d ON d.id = s.developer_id"
            " WHERE d.email = $1 AND s.browser_token_hash IS NOT NULL AND s.ended_at IS NULL AND s.expires_at > now() ORDER BY s.opened_at LIMIT 1",
            stage.developer.email,
        )
    )
    session, now = (row["id"], row["now"]) if row else (uuid4(), datetime.now(UTC))
    return await _keyed(
        stage, request=people.seal_request(runtime.seal, asked, session, now), decision="refuse"
    )


def _of_organization(
    fields: Callable[[Any], Awaitable[dict[str, str]]],
) -> Callable[[Any], Awaitable[FilledForm]]:
    async def filled(stage: Any) -> FilledForm:
        await _forget_tries(stage)
        await _act(stage, "DELETE FROM people_second_factor")
        return await _proved(stage, **await fields(stage))

    return filled


CONSOLE_FORMS: dict[str, Callable[[Any], Awaitable[FilledForm]]] = {
    **{
        operation: _of_organization(fields)
        for operation, fields in {
            **organization_requests.FORMS,
            **work_order_requests.FORMS,
            **exchange_requests.FORMS,
            **pipeline_requests.FORMS,
            **release_requests.FORMS,
            **phone_requests.FORMS,
            **support_requests.FORMS,
        }.items()
    },
    "POST /login": _login,
    "POST /logout": _empty,
    "POST /login/phone": _empty,
    "POST /login/passkey": lambda _: _passkey(),
    "POST /account/sessions/{session_id:uuid}/end": _keyed,
    "POST /account/sessions/end-all": _keyed,
    "POST /confirm": lambda stage: _keyed(stage, password=PASSWORD),
    "POST /sign-up": _sign_up,
    "POST /report": lambda stage: _anybodys(
        stage, agent_did=stage.agent.did, reason="Staged report", body="Staged", email=""
    ),
    "POST /forgot-password": _forgotten,
    "POST /recover": _recovery,
    "POST /set-password": _new_password,
    "POST /recover/two-factor": _second_factor_recovery,
    "POST /account/change-password": _changed_password,
    "POST /account/recovery-keys": _renewed_keys,
    "POST /account/two-factor/set-up": _app,
    "POST /account/two-factor/turn-on": _first_code,
    "POST /account/two-factor/turn-off": _end_of_app,
    "POST /account/deletion/request-deletion": _proved,
    "POST /account/deletion/cancel": _keyed,
    "POST /account/terms": lambda stage: _keyed(stage, tos_version=stage.registry.settings.tos_version),
    "POST /account/api-keys": _key,
    "POST /account/api-keys/{key_id:int}/revoke": _keyed,
    "POST /account/api-keys/{key_id:int}/restore": _keyed,
    "POST /oauth/authorize": _refused_access,
    "POST /account/connections/{connection_id:uuid}/limits": lambda stage: _proved(
        stage, per_call="0", per_day="0", ask_above="0"
    ),
    "POST /account/connections/{connection_id:uuid}/end": _keyed,
    "POST /account/approvals/{approval_id:uuid}/approve": _keyed,
    "POST /account/approvals/{approval_id:uuid}/deny": _keyed,
    "POST /account/webhooks": _webhook,
    "POST /account/webhooks/{webhook_id}/test": _keyed,
    "POST /account/webhooks/{webhook_id}/deliveries/{delivery_id}/resend": _keyed,
    "POST /account/webhooks/{webhook_id}/rotate-secret": _replaced_webhook_secret,
    "POST /account/webhooks/{webhook_id}/change": lambda stage: _keyed(
        stage, url="https://receiver.example.com/hook", event_types="*"
    ),
    "POST /account/webhooks/{webhook_id}/activate": _keyed,
    "POST /account/webhooks/{webhook_id}/stop": _keyed,
    "POST /account/webhooks/{webhook_id}/delete": _keyed,
    "POST /account/webhooks/{webhook_id}/restore": _keyed,
    "POST /account/agents/new/from-host": lambda stage: _keyed(stage, agent_host="http://127.0.0.1"),
    "POST /account/agents/new/from-form": _card_fields,
    "POST /account/agents/new/from-card": _card,
    "POST /account/agents/new/project": lambda stage: _keyed(stage, **asked("paid_function")),
    "POST /account/agents/new": _new_agent,
    "POST /account/agents/{did}/listing": lambda stage: _keyed(stage, listing="listed"),
    "POST /account/agents/{did}/card/review": _card,
    "POST /account/agents/{did}/card": _edited_card,
    "POST /account/agents/{did}/rights": _rights,
    "POST /account/agents/{did}/approvals/{approval_id:uuid}/approve": _keyed,
    "POST /account/agents/{did}/approvals/{approval_id:uuid}/deny": _keyed,
    "POST /account/agents/{did}/capabilities/{capability_id:uuid}/revoke": _keyed,
    "POST /account/agents/{did}/capabilities": _capability,
    "POST /account/agents/{did}/enable-mtls": _proved,
    "POST /account/agents/{did}/rotate-secret": _replaced_secret,
    "POST /account/agents/{did}/rotate-signing-key": _replaced_key,
    "POST /account/agents/{did}/disable-mtls": _proved,
    "POST /account/agents/{did}/test-call": lambda stage: _keyed(
        stage, client_secret=stage.agent.created["client_secret"]
    ),
    "POST /docs/operations/{name}/run": _run,
    "POST /account/agents/{did}/end": lambda stage: _proved(stage, understood="true"),
}
