"""Every secret there is, marked, in one long conversation with crashes in it: none turns up where it does not belong."""

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit
from uuid import uuid4

import httpx2
import pytest

from hansa.foundation.values import secret_forms
from hansa.foundation.values.secret_forms import without_secrets
from tests.browsing import BrowserOf
from tests.connections import ConnectedClient, register
from tests.conversations.person import App, person
from tests.hostile.served import Served, serve
from tests.organizations import TOKEN
from tests.phones import Phone, authenticator_of, begin_login
from tests.properties.scale import by_tier
from tests.registry import StartRegistry, TestDeveloper, TestRegistry, card_of, text_of

LOG_FORMATS = ["console", "json"]

# Tables whose loss makes the next request crash with secrets in its frames.
CRASHES = ("people_session", "agents_key", "agents_agent", "people_developer", "plumbing_idempotency")


@dataclass
class Conversation:
    """Secrets of the conversation by name, and every refusal as text."""

    http: httpx2.AsyncClient
    registry: TestRegistry
    secrets: dict[str, str] = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)

    async def say(self, method: str, path: str, **request: Any) -> Any:
        """Send a request; a refusal is kept."""
        headers = {**self.registry.elsewhere(), **request.pop("headers", {})}
        answer = await self.http.request(method, "/api/v1" + path, headers=headers, **request)
        if not answer.is_success:
            self.refusals.append(f"{answer.headers}\n{answer.text}")
        return answer.json()

    def keep(self, **secrets: str) -> None:
        """Remember more secrets."""
        self.secrets.update(secrets)


@pytest.mark.parametrize("log_format", by_tier(["console"], LOG_FORMATS, LOG_FORMATS))
async def test_no_secret_turns_up_in_logs_refusals_metrics_tables_or_the_process_list(
    log_format: str, start_registry: StartRegistry
):
    registry = await start_registry(public_base_url="https://registry.test", email_verification_required=True)
    settings = {"LOG_LEVEL": "debug", "LOG_FORMAT": log_format, "EMAIL_VERIFICATION_REQUIRED": "true"}
    # The list of processes shows what the program was started with.
    async with serve(registry, as_program=True, **settings) as served:
        # A server closes the connection on which it crashed.
        each_alone = httpx2.Limits(max_keepalive_connections=0)
        async with httpx2.AsyncClient(base_url=served.url, timeout=30, limits=each_alone) as http:
            talk = Conversation(http, registry)
            await be_invited(talk)
            await become_a_developer(talk)
            await get_back_into_an_account(talk)
            await ask_a_phone(talk)
            await make_an_agent(talk)
            await subscribe(talk)
            await be_admitted(talk)
            await connect_a_client(talk)
            await be_asked_into_an_organization(talk)
            await send_secrets_to_wrong_places(talk)
            await crash_with_secrets_in_hand(talk)
            metrics = (await http.get("/metrics")).text
        await knock_with_a_websocket(served, talk.secrets["developer token"])
        command_line = command_line_of(served)
    # A commit has the other format for what differs most in it.
    other_log = await log_of_crashes(talk, {**settings, "LOG_FORMAT": other_of(log_format)})
    talk.keep(**secrets_of_the_operator(registry))

    assert any("INTERNAL_ERROR" in refusal for refusal in talk.refusals)
    assert "request crashed" in served.log.read_text()
    assert "request crashed" in other_log
    found_in = {
        "log": served.log.read_text(),
        "log in the other format": other_log,
        "refusals": "\n".join(talk.refusals),
        "metrics": metrics,
        "command line": command_line,
        "tables": await dump(registry),
        "the database's log": await log_of_the_database(registry),
    }
    leaks = [
        f"{secret} in {place}"
        for place, text in found_in.items()
        for secret, value in talk.secrets.items()
        if any(spelling in text for spelling in spellings(value))
    ]
    assert len(talk.secrets) >= 20
    assert kinds_without_a_canary(talk.secrets) == set()
    assert leaks == []


def kinds_without_a_canary(secrets: dict[str, str]) -> set[str]:
    """Kinds of secrets that the registry knows, of which none is among these: a new prefix needs a canary."""
    # The database stores the bytes of a webhook's secret, which its canary is.
    shown = " ".join(f"whsec_{one}" if "webhook secret" in name else one for name, one in secrets.items())
    found = re.findall(r"\[redacted:(\w+)\]", without_secrets(shown))
    return {*secret_forms.KINDS.values(), *secret_forms._OTHERS} - set(found)


def test_a_kind_of_secret_without_a_canary_is_named():
    secrets = {prefix: prefix + "0a" * 32 for prefix in secret_forms.KINDS}
    assert kinds_without_a_canary(secrets) == set(secret_forms._OTHERS)
    missing = secrets.pop("apt_")
    assert kinds_without_a_canary(secrets) - set(secret_forms._OTHERS) == {"payment_token"}, missing


@pytest.mark.parametrize("spelling", ["plain", "hex", "base64", "quoted"])
def test_a_secret_is_recognised_in_every_spelling(spelling: str):
    secret = "Canary/7+" + uuid4().hex
    text = {
        "plain": secret,
        "hex": "\\x" + secret.encode().hex(),
        "base64": base64.b64encode(secret.encode()).decode(),
        "quoted": quote(secret, safe=""),
    }[spelling]
    assert any(found in f"before {text} after" for found in spellings(secret))


def spellings(secret: str) -> set[str]:
    """How a secret may look where it leaks; base64 of it inside a longer text is not looked for."""
    raw = secret.encode()
    return {
        secret,
        json.dumps(secret)[1:-1],
        raw.hex(),
        base64.b64encode(raw).decode().rstrip("="),
        quote(secret, safe=""),
    }


async def be_invited(talk: Conversation) -> None:
    """Codes of invitations: one that is shown at registration, one that is revoked by itself."""
    admin = await talk.registry.administrator("admin_support")
    asked = {"count": 2, "note": "For the canary"}
    made = await talk.say("POST", "/admin/invite-codes/generate", json=asked, headers=admin.headers)
    used, revoked = [invite["code"] for invite in made]
    talk.keep(**{"invitation": used, "revoked invitation": revoked})
    await talk.say("DELETE", f"/admin/invite-codes/{revoked}", headers=admin.headers)


async def be_admitted(talk: Conversation) -> None:
    """Licence keys: one that reads the log, one that is suspended and refused."""
    admin, keys = await talk.registry.administrator("admin_federation"), "/admin/federation/licence-keys"
    for number, name in enumerate(("reading", "suspended")):
        asked = {"trust_domain": f"canary{number}.example"}
        made = await talk.say("POST", keys, json=asked, headers=admin.headers)
        talk.keep(**{f"{name} licence key": made["licence_key"]})
    suspend = {"reason": "For the canary"}
    await talk.say("POST", f"{keys}/{made['id']}/suspend", json=suspend, headers=admin.headers)
    for name in ("reading", "suspended"):
        shown = {"X-Federation-License": talk.secrets[f"{name} licence key"]}
        await talk.say("GET", "/events/", headers=shown)


async def connect_a_client(talk: Conversation) -> None:
    """A browser session, in which a person allows a client: its code, used twice, and its tokens."""
    developer = TestDeveloper(talk.registry, "canary@example.org", talk.secrets["developer token"])
    browser = await BrowserOf(talk.registry).log_in(developer.email, talk.secrets["password"])
    registered = (await register(talk.registry)).json()
    client = ConnectedClient(talk.registry, developer, browser, registered["client_id"])
    cookie = next(one for one in browser.http.cookies.jar if (one.value or "").startswith("hbs_"))
    session = str(cookie.value)
    await client.ask()
    code = (await client.allow("mcp:read"))["code"]
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "client_id": client.client_id,
        "redirect_uri": client.redirect_uri,
        "code_verifier": client.verifier,
    }
    elsewhere = talk.registry.elsewhere()
    first, again = [await talk.http.post("/oauth/token", data=form, headers=elsewhere) for _ in range(2)]
    talk.refusals.append(f"{again.headers}\n{again.text}")
    tokens = first.json()
    headers = {"Authorization": f"Bearer {tokens['access_token']}"}
    await talk.say("GET", "/auth/profile", headers=headers)
    await talk.say("GET", "/auth/profile", headers={"Cookie": f"{cookie.name}={session}"})
    ticket = await talk.say("POST", "/ws/ticket", headers=developer.headers)
    talk.keep(
        **{
            "browser session": session,
            "authorization code": code,
            "access token of a client": tokens["access_token"],
            "refresh token of a client": tokens["refresh_token"],
            "ticket of the feed": ticket["ticket"],
        }
    )


async def be_asked_into_an_organization(talk: Conversation) -> None:
    """An invitation, which is mailed."""
    founder = {"Authorization": f"Bearer {talk.secrets['developer token']}"}
    asked = {"name": "Canaries", "slug": "canaries"}
    made = await talk.say("POST", "/organizations", json=asked, headers=founder)
    path = f"/organizations/{made['slug']}/invitations"
    invited = {"email": "asked@example.org", "role": "member"}
    await talk.say("POST", path, json=invited, headers=founder)
    while not (found := invitations_in(await talk.registry.outbox())):  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    talk.keep(**{"invitation into an organization": found[-1]})


def invitations_in(mails: list[EmailMessage]) -> list[str]:
    return [found for mail in mails for found in TOKEN.findall(text_of(mail))]


async def become_a_developer(talk: Conversation) -> None:
    password = f"Canary-7-{uuid4().hex}"
    me = {"name": "Canary", "email": "canary@example.org", "tos_accepted": True, "age_confirmed": True}
    code = {"invite_code": talk.secrets["invitation"]}
    registered = await talk.say("POST", "/auth/register", json={**me, **code, "password": password})
    talk.keep(password=password)
    talk.keep(**{f"recovery key {number}": key for number, key in enumerate(registered["recovery_keys"])})
    form = {"username": me["email"], "password": password}
    await talk.say("POST", "/auth/login", data=form)
    # The registry that is served sends its mails too, and may be doing so.
    while not (mails := await talk.registry.outbox()):  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    mailed = link_in(mails[-1])
    talk.keep(**{"verification token": mailed})
    for _ in range(2):
        await talk.say("GET", "/auth/verify-email", params={"token": mailed})
    first = await talk.say("POST", "/auth/login", data=form)
    again = await talk.say("POST", "/auth/refresh", json={"refresh_token": first["refresh_token"]})
    other = await talk.say("POST", "/auth/login", data=form)
    talk.keep(
        **{
            "refresh token": other["refresh_token"],
            "used refresh token": first["refresh_token"],
            "new refresh token": again["refresh_token"],
            "developer token": other["access_token"],
            "first developer token": first["access_token"],
            "second developer token": again["access_token"],
        }
    )


async def get_back_into_an_account(talk: Conversation) -> None:
    """Somebody else's, so that the talk goes on with the first."""
    someone = await person(talk.registry, "forgetful@example.org")
    await mark_verified(talk.registry)
    await someone.log_in()
    app = App((await talk.say("POST", "/auth/2fa/setup", headers=someone.headers))["secret"])
    code = {"code": app.code()}
    backup_codes = (await talk.say("POST", "/auth/2fa/verify", json=code, headers=someone.headers))[
        "backup_codes"
    ]
    form = {"username": someone.email, "password": someone.password}
    half = await talk.say("POST", "/auth/login", data=form)
    await talk.say("POST", "/auth/2fa/validate", json={"partial_token": half["partial_token"], "code": "x"})
    first = {"email": someone.email, "recovery_key": someone.recovery_keys[0]}
    recovered = await talk.say("POST", "/auth/recover-account", json=first)
    await talk.say("POST", "/auth/forgot-password", json={"email": someone.email})
    while not (links := await links_to_set_a_password(talk.registry)):  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    talk.keep(
        **{
            "seed of an app": app.seed,
            "backup code": backup_codes[0],
            "backup code as it is compared": backup_codes[0].replace("-", ""),
            "partial token": half["partial_token"],
            "recovery key that was used": someone.recovery_keys[0],
            "token that sets a password": recovered["access_token"],
            "mailed token that sets a password": link_in(links[-1]),
        }
    )


async def ask_a_phone(talk: Conversation) -> None:
    """Somebody's phone is enrolled, and refuses a login with a passkey of another phone."""
    someone = await person(talk.registry, "forgetful-phone@example.org")
    await mark_verified(talk.registry)
    await someone.log_in()
    asked = await talk.say("POST", "/auth/phone/devices/options", json={}, headers=someone.headers)
    authenticator = authenticator_of(talk.registry)
    body = {"name": "Phone", "credential": authenticator.create(asked["publicKey"])}
    made = await talk.http.post("/api/v1/auth/phone/devices", json=body, headers=someone.headers)
    token = made.headers["set-cookie"].partition(";")[0].partition("=")[2]
    phone = Phone(talk.registry, made.json()["id"], token, authenticator)
    await begin_login(someone)
    (login,) = (await talk.http.get("/api/v1/auth/phone/sessions", headers=phone.headers)).json()
    wrong = {"number": "00", "assertion": authenticator_of(talk.registry).get(login["challenge"])}
    path = f"/auth/phone/sessions/{login['id']}/approve"
    await talk.say("POST", path, json=wrong, headers=phone.headers)
    await talk.say("GET", "/auth/profile", headers=phone.headers)
    talk.keep(**{"token of a phone": token})


async def links_to_set_a_password(registry: TestRegistry) -> list[EmailMessage]:
    return [mail for mail in await registry.outbox() if "#token=" in text_of(mail)]


async def mark_verified(registry: TestRegistry) -> None:
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE people_developer SET is_verified = true WHERE email LIKE 'forgetful%'")
    )


async def make_an_agent(talk: Conversation) -> None:
    headers = {"Authorization": f"Bearer {talk.secrets['developer token']}"}
    dids = []
    for name in ("payer", "payee"):
        ticket = await talk.say("POST", "/onboard/bootstrap/request-token", json={}, headers=headers)
        made = await talk.say(
            "POST",
            "/onboard/create_agent",
            json={"agent_did_method": "hansa", "agent_card": card_of(name.title())},
            headers={"Bootstrap-Token": ticket["bootstrap_token"]},
        )
        form = {"username": made["client_id"], "password": made["client_secret"]}
        token = (await talk.say("POST", "/auth/agent/token", data=form))["access_token"]
        bearer = {"Authorization": f"Bearer {token}"}
        rotated = await talk.say("POST", "/agents/me/rotate-signing-key", json={}, headers=bearer)
        svid = (await talk.say("POST", "/agent/enable-mtls", json={}, headers=bearer))["svid"]
        talk.keep(
            **{
                f"bootstrap token of the {name}": ticket["bootstrap_token"],
                f"client secret of the {name}": made["client_secret"],
                f"private key of the {name}": made["private_key_pem"].splitlines()[1],
                f"next private key of the {name}": rotated["private_key_pem"].splitlines()[1],
                f"certificate key of the {name}": svid["key_pem"].splitlines()[1],
                f"token of the {name}": token,
            }
        )
        dids.append(made["agent_did"])
    payer = {"Authorization": f"Bearer {talk.secrets['token of the payer']}", "Idempotency-Key": "once"}
    for amount in ("1", "1", "2"):
        await talk.say(
            "POST", "/teg/transfer", json={"receiver_agent_id": dids[1], "amount": amount}, headers=payer
        )
    payer.pop("Idempotency-Key")
    bought = {"target_agent_did": dids[1], "amount": "0.1"}
    authorized = await talk.say("POST", "/a2a-payment/authorize", json=bought, headers=payer)
    talk.keep(**{"payment token of the payer": authorized["token"]})
    shown = {"token": authorized["token"], "target_agent_did": dids[0]}
    await talk.say("POST", "/a2a-payment/verify", json=shown)
    lent = {"caveats": {"permissions": ["teg.transfer"]}, "budget_total": "5"}
    capability = await talk.say("POST", "/agents/capabilities", json=lent, headers=payer)
    talk.keep(**{"capability of the payer": capability["token"]})
    for amount in ("1", "6"):
        await talk.say(
            "POST",
            "/teg/transfer",
            json={"receiver_agent_id": dids[1], "amount": amount},
            headers={**payer, "X-Capability-Token": capability["token"]},
        )
    replaced = await talk.say("POST", f"/agents/{dids[1]}/rotate-secret", headers=headers)
    talk.keep(**{"second client secret of the payee": replaced["client_secret"]})
    unused = await talk.say("POST", "/onboard/bootstrap/request-token", json={}, headers=headers)
    talk.keep(**{"unused bootstrap token": unused["bootstrap_token"]})
    key = await talk.say("POST", "/auth/api-keys", json="Canary", headers=headers)
    talk.keep(**{"API key": key["plain_api_key"]})
    await talk.say("GET", "/auth/profile", headers={"Authorization": f"Bearer {key['plain_api_key']}"})


async def subscribe(talk: Conversation) -> None:
    """Create a webhook with two secrets, which both sign the deliveries meanwhile."""
    headers = {"Authorization": f"Bearer {talk.secrets['developer token']}"}
    wanted = {"url": "https://receiver.example.com/hook", "event_types": ["*"]}
    made = await talk.say("POST", "/developers/webhooks", json=wanted, headers=headers)
    path = f"/developers/webhooks/{made['id']}"
    rotated = await talk.say("POST", f"{path}/rotate-secret", headers=headers)
    await talk.say("POST", f"{path}/test", headers=headers)
    talk.keep(
        **{
            "former webhook secret": made["secret"].removeprefix("whsec_"),
            "webhook secret": rotated["secret"].removeprefix("whsec_"),
        }
    )


async def send_secrets_to_wrong_places(talk: Conversation) -> None:
    """Send the secrets as clients do by mistake: in the wrong member, header or type, or in half a body."""
    for secret in list(talk.secrets.values()):
        for path, member in (
            ("/auth/refresh", "refresh_token"),
            ("/auth/register", "email"),
            ("/teg/transfer", "amount"),
        ):
            await talk.say("POST", path, json={member: secret})
            await talk.say("POST", path, json={member: {"nested": secret}})
            await talk.say(
                "POST",
                path,
                content=f'{{"{member}": "{secret}"',
                headers={"Content-Type": "application/json"},
            )
        await talk.say(
            "POST", "/auth/login", data={"username": secret, "password": secret, "grant_type": secret}
        )
        await talk.say(
            "POST", "/auth/login", data={"username": "canary@example.org", "password": secret + "x"}
        )
        await talk.say("POST", "/auth/agent/token", data={"username": secret, "password": secret})
        await talk.say("GET", "/teg/balance", headers={"Authorization": f"Bearer {secret}x"})
        await talk.say("GET", "/teg/balance", headers={"Authorization": secret})
        shown = {
            "Authorization": f"Bearer {talk.secrets['token of the payer']}",
            "X-Capability-Token": secret,
        }
        body = {"receiver_agent_id": "x", "amount": "1"}
        await talk.say("POST", "/teg/transfer", json=body, headers=shown)
        await talk.say("POST", "/onboard/create_agent", json={}, headers={"Bootstrap-Token": secret + "x"})
        await talk.say("GET", "/agent-cards/", params={"next": secret, "limit": secret})
        await talk.say("GET", "/auth/verify-email", params={"token": secret})


def other_of(log_format: str) -> str:
    return next(one for one in LOG_FORMATS if one != log_format)


async def log_of_crashes(talk: Conversation, settings: dict[str, str]) -> str:
    """Return the service's log of crashes with these settings."""
    async with serve(talk.registry, **settings) as served:
        each_alone = httpx2.Limits(max_keepalive_connections=0)
        async with httpx2.AsyncClient(base_url=served.url, timeout=30, limits=each_alone) as http:
            await crash_with_secrets_in_hand(replace(talk, http=http))
    return served.log.read_text()


async def crash_with_secrets_in_hand(talk: Conversation) -> None:
    for table in CRASHES:
        async with gone(talk.registry, table):
            form = {"username": "canary@example.org", "password": talk.secrets["password"]}
            await talk.say("POST", "/auth/login", data=form)
            await talk.say("POST", "/auth/refresh", json={"refresh_token": talk.secrets["refresh token"]})
            await talk.say(
                "POST",
                "/onboard/create_agent",
                json={"agent_did_method": "hansa", "agent_card": card_of("Crash")},
                headers={"Bootstrap-Token": talk.secrets["unused bootstrap token"]},
            )
            headers = {
                "Authorization": f"Bearer {talk.secrets['token of the payer']}",
                "Idempotency-Key": table,
            }
            await talk.say(
                "POST", "/teg/transfer", json={"receiver_agent_id": "x", "amount": "1"}, headers=headers
            )
            token = {"Authorization": f"Bearer {talk.secrets['developer token']}"}
            await talk.say("GET", "/auth/profile", headers=token)
            key = {"Authorization": f"Bearer {talk.secrets['API key']}"}
            await talk.say("GET", "/auth/profile", headers=key)


def command_line_of(served: Served) -> str:
    """Return the command line of the process, which every user of the machine can read."""
    return Path(f"/proc/{served.pid}/cmdline").read_text()


async def knock_with_a_websocket(served: Served, token: str) -> None:
    """A browser carries its ticket in the query of the handshake; there is nothing to talk to here yet."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import InvalidStatus

    with pytest.raises(InvalidStatus):
        async with connect(f"{served.url.replace('http', 'ws')}/ws/nowhere?token={token}"):
            pass


@asynccontextmanager
async def gone(registry: TestRegistry, table: str) -> AsyncIterator[None]:
    """The table is not there for a while."""
    rename: Callable[[str, str], Awaitable[str]] = lambda old, new: registry.database.transaction(  # noqa: E731
        lambda tx: tx.execute(f'ALTER TABLE "{old}" RENAME TO "{new}"')
    )
    await rename(table, f"{table}_away")
    try:
        yield
    finally:
        await rename(f"{table}_away", table)


def secrets_of_the_operator(registry: TestRegistry) -> dict[str, str]:
    """Return the secrets in the data directory and in DATABASE_URL, by name."""
    keys = {
        path.name: path.read_text().splitlines()[1]
        for path in (registry.settings.data_dir / "keys").glob("*.pem")
    }
    assert keys
    password = unquote(urlsplit(registry.settings.database_url or "").password or "")
    return {**keys, **({"database password": password} if len(password) > 8 else {})}


async def dump(registry: TestRegistry) -> str:
    """Every row of every table as text."""
    tables = await registry.database.read(
        lambda tx: tx.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
    )
    lines = []
    for table in tables:
        rows = await registry.database.read(
            lambda tx, name=table["tablename"]: tx.fetch(f'SELECT t::text AS row FROM "{name}" t')
        )
        lines += [row["row"] for row in rows]
    assert len(lines) > 20
    return "\n".join(lines)


async def log_of_the_database(registry: TestRegistry) -> str:
    """Return the log of an embedded database server; an external server does not share its log."""
    cluster = Path(await registry.database.read(lambda tx: tx.fetchval("SHOW data_directory")))
    return "\n".join(log.read_text(errors="replace") for log in cluster.parent.glob("*.log"))


def link_in(mail: EmailMessage) -> str:
    """The token of the link that a mail holds."""
    return text_of(mail).split("token=")[1].split()[0]
