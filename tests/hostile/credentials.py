"""One credential of each kind in the table of rights, as the headers that carry it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hansa.foundation.plumbing.keys.authority import IdentityAuthority, Svid
from hansa.foundation.plumbing.keys.key_files import Keyring
from hansa.foundation.plumbing.keys.tokens import TokenIssuer, TokenKind
from hansa.foundation.plumbing.keys.trust_bundle import bundle_of
from hansa.foundation.values.areas import ADMIN_AREAS
from hansa.rooms import auditor, federation
from hansa.rooms.federation import NewPeer, VerifiedCard
from tests.hostile.console_forms import headers_of_a_page
from tests.hostile.peer_signing import KEY_SET, KID
from tests.hostile.well_formed import Stage
from tests.registry import PASSWORD, TestAgent, TestDeveloper, TestRegistry, text_of

# On a busy machine the whole table takes longer than the minutes of a bootstrap token, of a grant to set a password, and of the
# password that a browser gave.
LAST_LONGER = (
    "UPDATE agents_bootstrap_token SET expires_at = expires_at + interval '1 day' WHERE used_at IS NULL",
    "UPDATE people_password_grant SET expires_at = expires_at + interval '1 day'",
    "UPDATE people_session SET proved_at = proved_at + interval '1 day'",
)
LONG_AGO = datetime.now(UTC) - timedelta(days=1)


@dataclass(frozen=True)
class Credentials:
    """Headers by kind; `bootstrap` is good for one use."""

    headers: Mapping[str, Mapping[str, str]]


async def every_credential(stage: Stage) -> Credentials:
    """A fresh set."""
    registry, owner = stage.registry, stage.developer
    doubted, other, gone, half, locked_out = [await registry.developer() for _ in range(5)]
    await _act(registry, "UPDATE people_developer SET is_verified = false WHERE email = $1", doubted.email)
    await registry.post("/auth/logout", headers=gone.headers)
    powerless, suspended, revoked = [await owner.agent(name=name) for name in ("Weak", "Stopped", "Ended")]
    await _act(registry, "UPDATE agents_agent SET status = 'suspended' WHERE did = $1", suspended.did)
    await _act(registry, "UPDATE agents_agent SET status = 'revoked' WHERE did = $1", revoked.did)
    elsewhere, staker = await other.agent(name="Elsewhere"), await owner.agent(name="Staker")
    for agent in (stage.agent, elsewhere, staker, powerless):
        await let_it_stake(stage, agent)
    await _act(registry, "UPDATE agents_agent SET roles = '{staker,governor}' WHERE did = $1", staker.did)
    await _act(registry, "UPDATE agents_agent SET roles = '{}' WHERE did = $1", powerless.did)
    # All of them hold something and are counted from then on.
    await registry.database.transaction(auditor.audit, one_snapshot=True)
    revoked_service = await registry.service("revoked")
    await registry.database.transaction(lambda tx: federation.revoke_service(tx, "revoked"))
    stopped = await registry.administrator(*ADMIN_AREAS)
    await _suspend(stage, stopped)
    bootstrap, spare = await owner.bootstrap_token(), await owner.bootstrap_token()
    credentials = Credentials(
        {
            "none": {},
            "malformed": _bearer("not.a.token"),
            "developer": _bearer((await _again(registry, owner)).token),
            "unverified_developer": _bearer(doubted.token),
            "other_developer": _bearer(other.token),
            "expired_developer": _bearer(_expired(registry, TokenKind.DEVELOPER, owner)),
            "logged_out_developer": _bearer(gone.token),
            "agent": _bearer(stage.agent.token),
            "other_agent": _bearer(elsewhere.token),
            "staker": _bearer(staker.token),
            "powerless_agent": _bearer(powerless.token),
            "suspended_agent": _bearer(suspended.token),
            "revoked_agent": _bearer(revoked.token),
            "expired_agent": _bearer(_expired(registry, TokenKind.AGENT, stage.agent)),
            "forged_agent": _bearer(_forged(registry, stage.agent)),
            "bootstrap": {"Bootstrap-Token": bootstrap},
            "bootstrap_as_bearer": _bearer(spare),
            "refresh_as_bearer": _bearer(await _refresh_token(registry, owner)),
            "partial_as_bearer": _bearer(await _partial_token(registry, half)),
            "password_setter": _bearer(await _password_token(registry, locked_out)),
            "agent_as_bootstrap": {"Bootstrap-Token": stage.agent.token},
            "administrator": _bearer((await _again(registry, stage.administrator)).token),
            "api_key": _bearer((await owner.api_key()).token),
            "narrow_api_key": _bearer((await owner.api_key("profile:read")).token),
            "revoked_api_key": _bearer(await _ended_key(owner, "revoked_at = now()")),
            "expired_api_key": _bearer(
                await _ended_key(owner, "created_at = created_at - interval '1 year', expires_at = now()")
            ),
            "wrong_area_admin": _bearer((await registry.administrator("admin_treasury")).token),
            "administrators_api_key": _bearer((await stage.administrator.api_key()).token),
            "administrators_narrow_api_key": _bearer(
                (await stage.administrator.api_key("admin:admin_treasury")).token
            ),
            "suspended_administrator": _bearer(stopped.token),
            "internal": registry.internal,
            "service_certificate": registry.forwarding(await registry.service("reader")),
            "revoked_service_certificate": registry.forwarding(revoked_service),
            "agent_certificate": registry.forwarding(_certificate_of(stage.agent)),
            "peer_certificate": registry.forwarding(await peer_of(registry, "peer.example")),
            "licence": await registry.admitted("licensed.example"),
            "suspended_licence": await _licence_that_is(registry, "suspended"),
            "browser_session": await cookie_of(registry, owner),
            "ended_browser_session": await _ended_cookie(registry, owner),
            "administrator_browser_session": await cookie_of(registry, stage.administrator),
            "suspended_administrator_browser_session": await cookie_of(registry, stopped),
            "revoked_licence": await _licence_that_is(registry, "revoked"),
        }
    )
    for statement in LAST_LONGER:
        await registry.database.transaction(lambda tx, statement=statement: tx.execute(statement))
    return credentials


async def cookie_of(registry: TestRegistry, developer: TestDeveloper) -> dict[str, str]:
    """The cookie of a browser in which the developer is logged in."""
    answer = await registry.http.post(
        "/login",
        data={"email": developer.email, "password": PASSWORD},
        headers={**headers_of_a_page(registry), **registry.elsewhere()},
    )
    assert answer.status_code == 303, answer.text
    # Whoever uses the client of the tests sends no cookie without saying so.
    registry.http.cookies.clear()
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}


async def _ended_cookie(registry: TestRegistry, developer: TestDeveloper) -> dict[str, str]:
    cookie = await cookie_of(registry, developer)
    token = cookie["Cookie"].partition("=")[2]
    ending = "UPDATE people_session SET expires_at = now() WHERE browser_token_hash = sha256($1::text::bytea)"
    await _act(registry, ending, token)
    return cookie


def _certificate_of(agent: TestAgent) -> Svid:
    authority = agent.registry.runtime.authority
    assert authority
    spiffe_id = f"spiffe://{agent.registry.settings.trust_domain}/agent/{agent.did.replace(':', '-')}"
    return authority.issue(spiffe_id, now=datetime.now(UTC), lifetime=timedelta(minutes=30))


async def peer_of(registry: TestRegistry, trust_domain: str) -> Svid:
    """The certificate of another registry that is an active peer."""
    with TemporaryDirectory() as directory:
        authority = IdentityAuthority(Keyring(Path(directory)), trust_domain)
    spiffe_id = f"spiffe://{trust_domain}/registry/peer"
    now = datetime.now(UTC)
    card = VerifiedCard(
        spiffe_id=spiffe_id,
        ledger_id=trust_domain,
        registry_name="peer",
        trust_domain=trust_domain,
        did_namespace=trust_domain,
        settlement_currency="AVT",
        federation_base_url=f"https://{trust_domain}",
        text='{"signature": {"signed_canonical": []}}',
        etag="0" * 32,
        kid=KID,
        signed_at=now,
        expires_at=now + timedelta(days=30),
        keys=KEY_SET,
        verdicts=[],
    )
    new = NewPeer(
        f"https://{trust_domain}", bundle_of(trust_domain, authority.bundle_pem, 1), "approved", card=card
    )
    await registry.database.transaction(lambda tx: federation.add_peer(tx, new))
    return authority.issue(spiffe_id, now=now, lifetime=timedelta(hours=1))


async def _licence_that_is(registry: TestRegistry, status: str) -> dict[str, str]:
    headers = await registry.admitted(f"{status}.example")
    statement = "UPDATE federation_licence_key SET status = $1 WHERE trust_domain = $2"
    await _act(registry, statement, status, f"{status}.example")
    return headers


async def let_it_stake(stage: Stage, agent: TestAgent) -> None:
    """Put some units of the agent aside, so that it has something to release; its roles are as before."""
    paid = await stage.payee.transfer(agent, "21")
    assert paid.status_code == 200, paid.text
    (roles,) = await stage.registry.database.transaction(
        lambda tx: tx.fetchrow(
            "UPDATE agents_agent a SET roles = '{staker}' FROM agents_agent o WHERE a.did = $1 AND o.id = a.id"
            " RETURNING o.roles",
            agent.did,
        )
    )
    staked = await stage.registry.post("/staking/stake", json={"amount": "10"}, headers=agent.headers)
    assert staked.status_code == 200, staked.text
    await stage.registry.database.transaction(
        lambda tx: tx.execute("UPDATE agents_agent SET roles = $2 WHERE did = $1", agent.did, roles)
    )


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def _act(registry: TestRegistry, statement: str, *values: str) -> None:
    outcome = await registry.database.transaction(lambda tx: tx.execute(statement, *values))
    assert outcome == "UPDATE 1", outcome


async def _suspend(stage: Stage, developer: TestDeveloper) -> None:
    registry = stage.registry
    developer_id = (await registry.get("/auth/profile", headers=developer.headers)).json()["id"]
    answer = await registry.post(
        f"/admin/developers/{developer_id}/suspend",
        json={"reason": "Fraud"},
        headers=stage.administrator.headers,
    )
    assert answer.status_code == 200, answer.text


async def _login(registry: TestRegistry, developer: TestDeveloper) -> dict[str, str]:
    form = {"username": developer.email, "password": PASSWORD}
    answer = await registry.post("/auth/login", data=form, headers=registry.elsewhere())
    assert answer.status_code == 200, answer.text
    return answer.json()


async def _again(registry: TestRegistry, developer: TestDeveloper) -> TestDeveloper:
    return TestDeveloper(registry, developer.email, (await _login(registry, developer))["access_token"])


async def _ended_key(developer: TestDeveloper, ending: str) -> str:
    key = (await developer.api_key()).token
    statement = f"UPDATE people_api_key SET {ending} WHERE key_hash = sha256($1::text::bytea)"
    await _act(developer.registry, statement, key)
    return key


async def _refresh_token(registry: TestRegistry, developer: TestDeveloper) -> str:
    return (await _login(registry, developer))["refresh_token"]


async def _partial_token(registry: TestRegistry, developer: TestDeveloper) -> str:
    await _act(
        registry,
        "UPDATE people_second_factor SET enabled_at = now() FROM people_developer"
        " WHERE developer_id = id AND email = $1",
        await _begin_setup(registry, developer),
    )
    return (await _login(registry, developer))["partial_token"]


async def _begin_setup(registry: TestRegistry, developer: TestDeveloper) -> str:
    answer = await registry.post("/auth/2fa/setup", headers=developer.headers)
    assert answer.status_code == 200, answer.text
    return developer.email


async def _password_token(registry: TestRegistry, developer: TestDeveloper) -> str:
    await registry.post("/auth/forgot-password", json={"email": developer.email})
    mails = [mail for mail in await registry.outbox() if mail["To"] == developer.email]
    return text_of(mails[-1]).split("#token=")[1].split()[0]


def _expired(registry: TestRegistry, kind: TokenKind, whose: TestDeveloper | TestAgent) -> str:
    return _like(registry.runtime.tokens, registry, kind, whose.token, LONG_AGO)


def _forged(registry: TestRegistry, agent: TestAgent) -> str:
    with TemporaryDirectory() as directory:
        desk = TokenIssuer(Keyring(Path(directory)), registry.settings.trust_domain)
        return _like(desk, registry, TokenKind.AGENT, agent.token, datetime.now(UTC))


def _like(desk: TokenIssuer, registry: TestRegistry, kind: TokenKind, token: str, now: datetime) -> str:
    claims = registry.runtime.tokens.verify(kind, token)
    return desk.issue(kind, claims.subject, session=claims.session, now=now, lifetime=timedelta(minutes=90))
