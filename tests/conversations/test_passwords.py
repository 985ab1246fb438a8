"""Passwords: changing one, forgetting one, and getting back into an account."""

import re

import pytest

from hansa.foundation.values.secrets import fingerprint
from tests.conversations.person import WRONG_PASSWORD, person, said
from tests.registry import at_once, text_of

NEW_PASSWORD = "Another-Horse-9-Stable"


@pytest.fixture
async def ada(registry):
    return await (await person(registry, "ada@example.org")).log_in()


async def forget(registry, email):
    return await registry.post("/auth/forgot-password", json={"email": email}, headers=registry.elsewhere())


async def recover(registry, email, key):
    body = {"email": email, "recovery_key": key}
    return await registry.post("/auth/recover-account", json=body, headers=registry.elsewhere())


async def set_password(registry, token, password=NEW_PASSWORD):
    headers = {"Authorization": f"Bearer {token}"}
    return await registry.post("/auth/set-new-password", json={"new_password": password}, headers=headers)


async def recovery_token(ada, key=0):
    answer = await recover(ada.registry, ada.email, ada.recovery_keys[key])
    assert answer.status_code == 200, answer.text
    return answer.json()["access_token"]


def token_in(mail):
    (token,) = re.findall(r"#token=(\S+)", text_of(mail))
    return token


async def links(registry):
    return [mail for mail in await registry.outbox() if "#token=" in text_of(mail)]


async def change(registry, statement):
    await registry.database.transaction(lambda tx: tx.execute(statement))


# Changing it


async def test_a_changed_password_logs_in_and_the_old_one_does_not(ada):
    answer = await ada.post("/auth/change-password", current_password=ada.password, new_password=NEW_PASSWORD)
    assert (answer.status_code, bool(answer.json()["message"])) == (200, True)
    assert (await ada.try_login()).status_code == 401
    assert (await ada.try_login(NEW_PASSWORD)).status_code == 200


async def test_a_change_of_the_password_ends_every_token_of_the_account(ada):
    other = await ada.elsewhere()
    await ada.post("/auth/change-password", current_password=ada.password, new_password=NEW_PASSWORD)
    for one in (ada, other):
        assert not await one.is_logged_in()
        assert (await one.refresh()).status_code == 401


async def test_a_change_with_a_wrong_present_password_is_401_and_changes_nothing(ada):
    answer = await ada.post(
        "/auth/change-password", current_password=WRONG_PASSWORD, new_password=NEW_PASSWORD
    )
    assert said(answer) == (401, "AUTH_FAILED")
    assert await ada.is_logged_in()
    assert (await ada.try_login()).status_code == 200


@pytest.mark.parametrize(
    ("password", "status"), [("Short-1-Pas", 422), ("no-upper-case-1", 422), ("My-PassWord-Is-1-Long", 400)]
)
async def test_a_new_password_follows_the_rules_of_registration(ada, password, status):
    changed = await ada.post("/auth/change-password", current_password=ada.password, new_password=password)
    token = await recovery_token(ada)
    set_anew = await set_password(ada.registry, token, password)
    assert (changed.status_code, set_anew.status_code) == (status, status)
    assert changed.json()["error"]["field"] == set_anew.json()["error"]["field"] == "new_password"
    # What was refused cost the token nothing.
    assert (await set_password(ada.registry, token)).status_code == 200


async def test_the_password_of_an_account_cannot_be_guessed_through_a_change_of_it(ada):
    async def guess():
        return await ada.post(
            "/auth/change-password", current_password=WRONG_PASSWORD, new_password=NEW_PASSWORD
        )

    # Logging in was the first of ten tries a minute.
    assert [(await guess()).status_code for _ in range(10)] == [401] * 9 + [429]


async def test_of_parallel_changes_exactly_one_wins(ada):
    answers = await at_once(
        *(
            ada.post(
                "/auth/change-password", current_password=ada.password, new_password=f"{NEW_PASSWORD}{n}"
            )
            for n in range(4)
        )
    )
    assert sorted(answer.status_code for answer in answers) == [200, 401, 401, 401]


async def test_a_login_under_way_while_the_password_changes_leaves_no_session_of_the_old_one(ada):
    answers = await at_once(
        *(ada.try_login() for _ in range(4)),
        ada.post("/auth/change-password", current_password=ada.password, new_password=NEW_PASSWORD),
    )
    assert answers[-1].status_code == 200
    for answer in answers[:-1]:
        if answer.status_code == 200:
            ada.tokens = answer.json()
            assert not await ada.is_logged_in()


async def test_the_owner_is_notified_of_a_changed_password(ada):
    await ada.post("/auth/change-password", current_password=ada.password, new_password=NEW_PASSWORD)
    (mail,) = await ada.registry.outbox()
    assert (mail["To"], mail["Subject"]) == ("ada@example.org", "Your password was changed")


# Forgetting it


async def test_a_known_and_an_unknown_address_are_answered_alike(ada):
    known, unknown = await forget(ada.registry, ada.email), await forget(ada.registry, "nobody@example.org")
    assert (known.status_code, known.json()) == (unknown.status_code, unknown.json()) == (200, known.json())
    assert [mail["To"] for mail in await ada.registry.outbox()] == [ada.email]


async def test_the_answer_looks_nothing_up(ada):
    """The work that depends on the address is done afterwards: here it has not been done yet."""
    await forget(ada.registry, ada.email)
    made = await ada.registry.database.read(
        lambda tx: tx.fetchval("SELECT count(*) FROM people_password_grant")
    )
    assert made == 0


async def test_the_mailed_link_sets_a_new_password_once(start_registry):
    registry = await start_registry(public_base_url="https://registry.example.org")
    ada = await (await person(registry)).log_in()
    await forget(registry, ada.email.upper())
    (mail,) = await links(registry)
    assert "https://registry.example.org/set-password#token=" in text_of(mail)
    token = token_in(mail)
    assert (await set_password(registry, token)).status_code == 200
    assert (await ada.try_login(NEW_PASSWORD)).status_code == 200
    assert not await ada.is_logged_in()
    assert said(await set_password(registry, token)) == (401, "AUTH_FAILED")


async def test_no_header_of_a_request_gets_into_a_link(registry):
    ada = await person(registry)
    hostile = dict.fromkeys(("Host", "X-Forwarded-Host", "Origin", "Referer"), "evil.example")
    hostile["Forwarded"] = "host=evil.example"
    answer = await registry.post("/auth/forgot-password", json={"email": ada.email}, headers=hostile)
    assert answer.status_code == 200
    (mail,) = await links(registry)
    assert "evil" not in mail.as_string()
    assert f"{registry.settings.base_url}/set-password#token=" in text_of(mail)


async def test_one_link_is_mailed_in_five_minutes(ada):
    for _ in range(2):
        assert (await forget(ada.registry, ada.email)).status_code == 200
        assert len(await links(ada.registry)) == 1
    await change(
        ada.registry, "UPDATE people_developer SET reset_mailed_at = reset_mailed_at - interval '5 minutes'"
    )
    await forget(ada.registry, ada.email)
    assert len(await links(ada.registry)) == 2


async def test_forgetting_is_limited_to_three_an_hour_for_each_account_known_or_not(ada):
    for email in (ada.email, "nobody@example.org"):
        statuses = [
            (await forget(ada.registry, spelling)).status_code for spelling in [email, email.upper()] * 2
        ]
        assert statuses == [200, 200, 200, 429]


async def test_of_two_links_alive_the_other_dies_with_the_change(ada):
    await forget(ada.registry, ada.email)
    await ada.registry.outbox()
    await change(ada.registry, "UPDATE people_developer SET reset_mailed_at = NULL")
    await forget(ada.registry, ada.email)
    first, second = [token_in(mail) for mail in await links(ada.registry)]
    assert (await set_password(ada.registry, second)).status_code == 200
    assert (await set_password(ada.registry, first, WRONG_PASSWORD)).status_code == 401


async def test_a_link_dies_with_a_change_of_the_password(ada):
    await forget(ada.registry, ada.email)
    (mail,) = await links(ada.registry)
    await ada.post("/auth/change-password", current_password=ada.password, new_password=NEW_PASSWORD)
    assert (await set_password(ada.registry, token_in(mail), WRONG_PASSWORD)).status_code == 401


async def test_a_link_ends_after_an_hour(ada):
    await forget(ada.registry, ada.email)
    (mail,) = await links(ada.registry)
    await change(
        ada.registry, "UPDATE people_password_grant SET expires_at = expires_at - interval '60 minutes'"
    )
    assert (await set_password(ada.registry, token_in(mail))).status_code == 401


async def test_a_malformed_address_is_a_validation_error(registry):
    for email in ("", "ada", "ada@localhost", 42, None):
        assert (email, (await forget(registry, email)).status_code) == (email, 422)


# Recovering the account


async def test_a_recovery_key_buys_five_minutes_to_set_a_new_password(ada):
    answer = await recover(ada.registry, ada.email, ada.recovery_keys[0])
    assert answer.status_code == 200
    body = answer.json()
    assert set(body) == {"access_token", "token_type", "expires_in", "message"}
    assert (body["token_type"], body["expires_in"]) == ("bearer", 300)
    assert (await set_password(ada.registry, body["access_token"])).status_code == 200
    assert (await ada.try_login(NEW_PASSWORD)).status_code == 200
    assert not await ada.is_logged_in()


async def test_a_recovery_key_works_once_and_each_of_the_three_by_itself(ada):
    for key in ada.recovery_keys:
        assert (await recover(ada.registry, ada.email, key)).status_code == 200
        assert said(await recover(ada.registry, ada.email, key)) == (401, "AUTH_FAILED")


async def test_of_parallel_uses_of_a_recovery_key_exactly_one_wins(ada):
    answers = await at_once(*(recover(ada.registry, ada.email, ada.recovery_keys[0]) for _ in range(6)))
    assert sorted(answer.status_code for answer in answers) == [200] + [401] * 5


async def test_a_wrong_key_somebody_elses_and_an_unknown_address_are_refused_alike(ada):
    eve = await person(ada.registry)
    answers = [
        await recover(ada.registry, ada.email, "avrec-00000000-00000000-00000000"),
        await recover(ada.registry, ada.email, eve.recovery_keys[0]),
        await recover(ada.registry, "nobody@example.org", ada.recovery_keys[0]),
    ]
    assert [said(answer) for answer in answers] == [(401, "AUTH_FAILED")] * 3
    assert len({answer.text for answer in answers}) == 1
    assert (await recover(ada.registry, ada.email, ada.recovery_keys[0])).status_code == 200


async def test_a_recovery_key_is_taken_as_people_type_it(ada):
    answer = await recover(ada.registry, "ADA@example.org", f" {ada.recovery_keys[0].upper()} ")
    assert answer.status_code == 200


async def test_recovering_is_limited_to_ten_a_minute_for_each_account(ada):
    statuses = [(await recover(ada.registry, ada.email, "avrec-wrong")).status_code for _ in range(11)]
    assert statuses == [401] * 10 + [429]


async def test_the_owner_is_notified_that_a_recovery_key_was_used(ada):
    await recovery_token(ada)
    (mail,) = await ada.registry.outbox()
    assert (mail["To"], mail["Subject"]) == (ada.email, "A recovery key was used")


async def test_a_password_token_is_good_for_one_use(ada):
    token = await recovery_token(ada)
    answers = await at_once(*(set_password(ada.registry, token, f"{NEW_PASSWORD}{n}") for n in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 401, 401, 401]


async def test_a_password_token_dies_with_a_change_of_the_password(ada):
    first, second = [await recovery_token(ada, key) for key in (0, 1)]
    assert (await set_password(ada.registry, first)).status_code == 200
    assert (await set_password(ada.registry, second, WRONG_PASSWORD)).status_code == 401


async def test_a_password_token_ends_after_five_minutes(ada):
    token = await recovery_token(ada)
    await change(
        ada.registry, "UPDATE people_password_grant SET expires_at = expires_at - interval '5 minutes'"
    )
    assert (await set_password(ada.registry, token)).status_code == 401


async def test_a_password_token_does_nothing_but_set_the_password(ada):
    headers = {"Authorization": f"Bearer {await recovery_token(ada)}"}
    for path in ("/auth/profile", "/auth/sessions", "/teg/balance", "/agents/me"):
        assert (await ada.registry.get(path, headers=headers)).status_code == 401


async def test_a_developer_token_does_not_set_the_password(ada):
    assert said(await ada.post("/auth/set-new-password", new_password=NEW_PASSWORD)) == (401, "AUTH_FAILED")


async def test_a_new_password_leaves_two_factor_login_on(ada):
    await ada.use_app()
    assert (await set_password(ada.registry, await recovery_token(ada))).status_code == 200
    assert (await ada.try_login(NEW_PASSWORD)).json()["requires_2fa"] is True


async def test_a_new_password_ends_a_login_that_is_half_done(ada):
    app, _ = await ada.use_app()
    partial_token = (await ada.try_login()).json()["partial_token"]
    assert (await set_password(ada.registry, await recovery_token(ada))).status_code == 200
    body = {"partial_token": partial_token, "code": app.code()}
    assert (await ada.registry.post("/auth/2fa/validate", json=body)).status_code == 401


# New recovery keys


async def test_new_recovery_keys_take_the_place_of_the_old_ones(ada):
    answer = await ada.post("/auth/recovery-keys", password=ada.password)
    assert answer.status_code == 200
    keys = answer.json()["recovery_keys"]
    assert len({*keys, *ada.recovery_keys}) == 6
    assert all(re.fullmatch(r"avrec(-[0-9a-f]{8}){3}", key) for key in keys)
    assert (await recover(ada.registry, ada.email, ada.recovery_keys[0])).status_code == 401
    assert (await recover(ada.registry, ada.email, keys[0])).status_code == 200


async def test_new_recovery_keys_need_the_password_and_with_two_factor_login_a_code(ada):
    wrong = await ada.post("/auth/recovery-keys", password=WRONG_PASSWORD)
    _, (backup_code, *_) = await ada.use_app()
    without = await ada.post("/auth/recovery-keys", password=ada.password)
    assert [said(answer) for answer in (wrong, without)] == [(401, "AUTH_FAILED")] * 2
    assert (await recover(ada.registry, ada.email, ada.recovery_keys[0])).status_code == 200
    answer = await ada.post("/auth/recovery-keys", password=ada.password, code=backup_code)
    assert answer.status_code == 200


async def test_of_parallel_renewals_one_set_of_recovery_keys_is_left(ada):
    answers = await at_once(*(ada.post("/auth/recovery-keys", password=ada.password) for _ in range(3)))
    # A renewal that begins after another one has ended takes its place; two that overlap leave one.
    assert {200} <= {answer.status_code for answer in answers} <= {200, 409}
    rows = await ada.registry.database.read(lambda tx: tx.fetch("SELECT key_hash FROM people_recovery_key"))
    shown = [answer.json()["recovery_keys"] for answer in answers if answer.status_code == 200]
    left = {row["key_hash"] for row in rows}
    assert [left for keys in shown if left == {fingerprint(key) for key in keys}] == [left]
