"""Accounts and secrets that end by the database's clock, and the stored form of a secret."""

import re

import pytest

from tests.registry import PASSWORD, at_once, text_of


async def change(registry, statement):
    await registry.database.transaction(lambda tx: tx.execute(statement))


async def register(registry):
    body = {
        "name": "Ada",
        "email": "ada@example.org",
        "password": PASSWORD,
        "tos_accepted": True,
        "age_confirmed": True,
    }
    answer = await registry.post("/auth/register", json=body, headers=registry.elsewhere())
    assert answer.status_code == 201
    return answer.json()


async def log_in(registry):
    form = {"username": "ada@example.org", "password": PASSWORD}
    return await registry.post("/auth/login", data=form, headers=registry.elsewhere())


async def profile(registry, tokens):
    return await registry.get("/auth/profile", headers={"Authorization": f"Bearer {tokens['access_token']}"})


async def test_a_developer_token_ends_after_its_lifetime(registry):
    await register(registry)
    # The time of opening is the token's time of issue: a session opened in the past returns a token that has ended.
    await change(
        registry,
        "ALTER TABLE people_session ALTER opened_at SET DEFAULT now() - interval '90 minutes 1 second'",
    )
    ended = (await log_in(registry)).json()
    await change(
        registry, "ALTER TABLE people_session ALTER opened_at SET DEFAULT now() - interval '89 minutes'"
    )
    fresh = (await log_in(registry)).json()
    assert (await profile(registry, ended)).status_code == 401
    assert (await profile(registry, fresh)).status_code == 200


async def test_a_refresh_token_ends_after_seven_days(registry):
    await register(registry)
    tokens = (await log_in(registry)).json()
    await change(registry, "UPDATE people_refresh_token SET expires_at = expires_at - interval '7 days'")
    refused = await registry.post("/auth/refresh", json={"refresh_token": tokens["refresh_token"]})
    assert refused.status_code == 401
    assert (await profile(registry, tokens)).status_code == 200


async def test_a_verification_link_ends_after_a_day(start_registry):
    registry = await start_registry(email_verification_required=True)
    await register(registry)
    (mail,) = await registry.outbox()
    (token,) = re.findall(r"token=(\w+)", text_of(mail))
    await change(
        registry, "UPDATE people_verification_link SET expires_at = expires_at - interval '24 hours'"
    )
    answer = await registry.get("/auth/verify-email", params={"token": token})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VERIFICATION_LINK_INVALID")
    assert (await log_in(registry)).status_code == 403


async def test_the_verification_mail_is_sent_again_once_for_each_five_minutes(start_registry):
    registry = await start_registry(email_verification_required=True)
    await register(registry)
    await change(registry, "UPDATE people_developer SET created_at = created_at - interval '5 minutes'")
    await at_once(*(log_in(registry) for _ in range(4)))
    first, again = await registry.outbox()
    await change(
        registry,
        "UPDATE people_developer SET verification_resent_at = verification_resent_at - interval '5 minutes'",
    )
    await log_in(registry)
    assert len(await registry.outbox()) == 3
    for mail, status in ((again, "verified"), (first, "already_verified")):
        (token,) = re.findall(r"token=(\w+)", text_of(mail))
        answer = await registry.get("/auth/verify-email", params={"token": token})
        assert answer.json()["status"] == status


async def test_new_terms_are_to_be_accepted_again(registry):
    await register(registry)
    tokens = (await log_in(registry)).json()
    await change(registry, "UPDATE people_developer SET tos_version = '0.9'")
    assert (await profile(registry, tokens)).json()["tos_reconsent_required"] is True


async def test_no_secret_is_in_the_database_in_clear(start_registry):
    registry = await start_registry(email_verification_required=True)
    keys = (await register(registry))["recovery_keys"]
    (mail,) = await registry.outbox()
    (token,) = re.findall(r"token=(\w+)", text_of(mail))
    await registry.get("/auth/verify-email", params={"token": token})
    tokens = (await log_in(registry)).json()
    tables = await registry.database.read(
        lambda tx: tx.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    )
    rows = [
        row["line"]
        for table in tables
        for row in await registry.database.read(
            lambda tx, name=table["tablename"]: tx.fetch(f'SELECT t::text AS line FROM "{name}" t')
        )
    ]
    everything = "\n".join(rows)
    secrets = [*keys, token, PASSWORD, tokens["access_token"], tokens["refresh_token"]]
    hidden_as_bytes = [secret.encode().hex() for secret in secrets]
    assert "ada@example.org" in everything
    assert not [secret for secret in [*secrets, *hidden_as_bytes] if secret in everything]


@pytest.mark.usefixtures("hash_passwords_with_all_the_work")
async def test_passwords_are_kept_as_argon2id_with_nineteen_mebibytes_and_two_passes(registry):
    await register(registry)
    kept = await registry.database.read(lambda tx: tx.fetchval("SELECT password_hash FROM people_developer"))
    assert kept.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
