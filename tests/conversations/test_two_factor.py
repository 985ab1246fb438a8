"""Two-factor login: setting it up, logging in with it, and getting rid of it."""

import re
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree as ET

import pytest

from tests.conversations.person import WRONG_PASSWORD, App, person, said
from tests.registry import at_once


@pytest.fixture
async def ada(registry):
    return await (await person(registry, "ada@example.org")).log_in()


async def validate(registry, partial_token, code):
    body = {"partial_token": partial_token, "code": code}
    return await registry.post("/auth/2fa/validate", json=body, headers=registry.elsewhere())


async def partial_login(someone):
    answer = await someone.try_login()
    assert answer.status_code == 200, answer.text
    return answer.json()["partial_token"]


async def change(registry, statement):
    await registry.database.transaction(lambda tx: tx.execute(statement))


# Setting up


async def test_setup_answers_a_seed_its_address_and_a_picture_of_it(ada):
    answer = await ada.post("/auth/2fa/setup")
    assert answer.status_code == 200
    body = answer.json()
    assert set(body) == {"secret", "otpauth_uri", "qr_svg"}
    assert re.fullmatch(r"[A-Z2-7]{32}", body["secret"])
    address = urlsplit(body["otpauth_uri"])
    assert (address.scheme, address.netloc, address.path) == ("otpauth", "totp", "/hansa:ada%40example.org")
    assert parse_qs(address.query) == {"secret": [body["secret"]], "issuer": ["hansa"]}
    assert ET.fromstring(body["qr_svg"]).tag.endswith("svg")


async def test_two_factor_login_is_off_until_the_first_code_was_verified(ada):
    seed = (await ada.post("/auth/2fa/setup")).json()["secret"]
    assert (await ada.try_login()).json()["requires_2fa"] is False
    answer = await ada.post("/auth/2fa/verify", code=App(seed).code())
    assert answer.status_code == 200
    assert (await ada.try_login()).json()["requires_2fa"] is True


async def test_verify_answers_ten_backup_codes(ada):
    _, backup_codes = await ada.use_app()
    assert len(set(backup_codes)) == 10


async def test_a_wrong_first_code_is_401_and_turns_nothing_on(ada):
    app = App((await ada.post("/auth/2fa/setup")).json()["secret"])
    assert said(await ada.post("/auth/2fa/verify", code=app.wrong_code())) == (401, "AUTH_FAILED")
    assert (await ada.try_login()).json()["requires_2fa"] is False


async def test_of_two_setups_the_later_seed_counts(ada):
    earlier, later = [App((await ada.post("/auth/2fa/setup")).json()["secret"]) for _ in range(2)]
    assert (await ada.post("/auth/2fa/verify", code=earlier.code())).status_code == 401
    assert (await ada.post("/auth/2fa/verify", code=later.code())).status_code == 200


async def test_what_is_on_is_not_set_up_again_and_what_is_not_set_up_is_not_verified(ada):
    assert said(await ada.post("/auth/2fa/verify", code="123456")) == (409, "TWO_FACTOR_NOT_SET_UP")
    app, _ = await ada.use_app()
    assert said(await ada.post("/auth/2fa/setup")) == (409, "TWO_FACTOR_ON")
    assert said(await ada.post("/auth/2fa/verify", code=app.code())) == (409, "TWO_FACTOR_ON")


async def test_turning_it_on_leaves_the_sessions_open(ada):
    await ada.use_app()
    assert await ada.is_logged_in()
    assert (await ada.refresh()).status_code == 200


# Logging in


async def test_without_a_code_the_right_password_answers_a_partial_token_and_an_empty_access_token(ada):
    await ada.use_app()
    answer = await ada.try_login()
    assert answer.status_code == 200
    body = answer.json()
    assert (body["requires_2fa"], body["access_token"], body["refresh_token"]) == (True, "", "")
    assert (body["token_type"], body["expires_in"]) == ("bearer", 300)
    assert body["partial_token"]
    assert body["message"]


async def test_a_wrong_password_is_401_whatever_the_code(ada):
    app, _ = await ada.use_app()
    code = app.code()
    assert (await ada.try_login(WRONG_PASSWORD, totp_code=code)).status_code == 401
    assert (await ada.try_login(totp_code=code)).status_code == 200


async def test_a_right_code_in_the_form_logs_straight_in_and_a_wrong_one_is_401(ada):
    app, _ = await ada.use_app()
    assert said(await ada.try_login(totp_code=app.wrong_code())) == (401, "AUTH_FAILED")
    answer = await ada.try_login(totp_code=app.code())
    assert answer.status_code == 200
    assert (answer.json()["requires_2fa"], answer.json()["partial_token"]) == (False, None)
    ada.tokens = answer.json()
    assert await ada.is_logged_in()


async def test_a_code_is_taken_as_people_type_it(ada):
    app, (backup_code, *_) = await ada.use_app()
    code = app.code()
    assert (await ada.try_login(totp_code=f" {code[:3]} {code[3:]}")).status_code == 200
    assert (await ada.try_login(totp_code=backup_code.upper().replace("-", " "))).status_code == 200


async def test_the_second_step_finishes_the_login(ada):
    app, _ = await ada.use_app()
    answer = await validate(ada.registry, await partial_login(ada), app.code())
    assert answer.status_code == 200
    assert set(answer.json()) == set((await ada.try_login()).json())
    ada.tokens = answer.json()
    assert await ada.is_logged_in()
    assert (await ada.refresh()).status_code == 200


async def test_a_backup_code_does_for_the_app_and_works_once(ada):
    _, (first, second, *_) = await ada.use_app()
    assert (await validate(ada.registry, await partial_login(ada), first)).status_code == 200
    assert (await validate(ada.registry, await partial_login(ada), first)).status_code == 401
    assert (await validate(ada.registry, await partial_login(ada), second)).status_code == 200


async def test_a_partial_token_is_good_for_one_login(ada):
    _, (first, second, *_) = await ada.use_app()
    partial_token = await partial_login(ada)
    assert (await validate(ada.registry, partial_token, first)).status_code == 200
    assert (await validate(ada.registry, partial_token, second)).status_code == 401


async def test_a_partial_token_dies_after_five_wrong_codes(ada):
    app, _ = await ada.use_app()
    partial_token = await partial_login(ada)
    statuses = [(await validate(ada.registry, partial_token, app.wrong_code())).status_code for _ in range(5)]
    code = app.code()
    assert statuses == [401] * 5
    assert (await validate(ada.registry, partial_token, code)).status_code == 401
    assert (await validate(ada.registry, await partial_login(ada), code)).status_code == 200


async def test_of_parallel_guesses_with_a_partial_token_five_are_looked_at(ada):
    app, _ = await ada.use_app()
    partial_token, wrong = await partial_login(ada), app.wrong_code()
    answers = await at_once(*(validate(ada.registry, partial_token, wrong) for _ in range(9)))
    assert [answer.status_code for answer in answers] == [401] * 9
    tried = await ada.registry.database.read(
        lambda tx: tx.fetchval("SELECT wrong_codes FROM people_second_factor")
    )
    assert tried == 5


async def test_a_partial_token_ends_after_five_minutes(ada):
    app, _ = await ada.use_app()
    partial_token, code = await partial_login(ada), app.code()
    await change(
        ada.registry, "UPDATE people_partial_token SET expires_at = expires_at - interval '5 minutes'"
    )
    assert (await validate(ada.registry, partial_token, code)).status_code == 401
    partial_token = await partial_login(ada)
    await change(
        ada.registry, "UPDATE people_partial_token SET expires_at = expires_at - interval '290 seconds'"
    )
    assert (await validate(ada.registry, partial_token, code)).status_code == 200


async def test_logging_out_ends_a_login_that_is_half_done(ada):
    app, _ = await ada.use_app()
    partial_token = await partial_login(ada)
    await ada.post("/auth/logout")
    assert (await validate(ada.registry, partial_token, app.code())).status_code == 401


async def test_an_unknown_partial_token_is_401(ada):
    app, _ = await ada.use_app()
    for partial_token in ("hpt_unknown", "x", ada.tokens["access_token"][:200]):
        assert said(await validate(ada.registry, partial_token, app.code())) == (401, "AUTH_FAILED")


async def test_a_time_step_works_once_and_with_it_every_step_before(ada):
    app, _ = await ada.use_app()
    before, now, after = [app.code_at(steps) for steps in (-1, 0, 1)]
    assert (await ada.try_login(totp_code=before)).status_code == 401
    assert (await ada.try_login(totp_code=after)).status_code == 200
    assert [(await ada.try_login(totp_code=code)).status_code for code in (before, now, after)] == [401] * 3


async def test_a_code_of_two_steps_ago_or_ahead_is_wrong(ada):
    app, _ = await ada.use_app()
    for code in (app.code_at(-3), app.code_at(3)):
        assert (await ada.try_login(totp_code=code)).status_code == 401


async def test_of_parallel_logins_with_one_code_exactly_one_wins(ada):
    app, (backup_code, *_) = await ada.use_app()
    for code in (app.code(), backup_code):
        tokens = [await partial_login(ada) for _ in range(4)]
        answers = await at_once(*(validate(ada.registry, token, code) for token in tokens))
        assert sorted(answer.status_code for answer in answers) == [200, 401, 401, 401]
        # Ten logins a minute is what an account has.
        await change(ada.registry, "DELETE FROM plumbing_rate_limit")


async def test_after_ten_wrong_codes_in_a_row_none_is_looked_at_for_a_quarter_of_an_hour(ada):
    app, (backup_code, *_) = await ada.use_app()
    for _ in range(2):
        partial_token = await partial_login(ada)
        for _ in range(5):
            await validate(ada.registry, partial_token, app.wrong_code())
    refused = await validate(ada.registry, await partial_login(ada), backup_code)
    assert said(refused) == (429, "RATE_LIMIT_EXCEEDED")
    assert 880 <= int(refused.headers["Retry-After"]) <= 900
    await change(
        ada.registry, "UPDATE people_second_factor SET paused_until = paused_until - interval '15 minutes'"
    )
    assert (await validate(ada.registry, await partial_login(ada), app.wrong_code())).status_code == 401
    assert (await validate(ada.registry, await partial_login(ada), backup_code)).status_code == 429


# Getting rid of it


async def test_disable_asks_for_password_and_code_and_turns_it_off(ada):
    app, (backup_code, *_) = await ada.use_app()
    wrong_password = await ada.post("/auth/2fa/disable", password=WRONG_PASSWORD, code=backup_code)
    wrong_code = await ada.post("/auth/2fa/disable", password=ada.password, code=app.wrong_code())
    assert (said(wrong_password), said(wrong_code)) == ((401, "AUTH_FAILED"), (401, "AUTH_FAILED"))
    assert (await ada.try_login()).json()["requires_2fa"] is True
    answer = await ada.post("/auth/2fa/disable", password=ada.password, code=backup_code)
    assert (answer.status_code, bool(answer.json()["message"])) == (200, True)
    assert (await ada.try_login()).json()["requires_2fa"] is False
    again = await ada.post("/auth/2fa/disable", password=ada.password, code=app.code())
    assert said(again) == (409, "TWO_FACTOR_OFF")


async def test_after_a_new_setup_the_old_app_and_backup_codes_are_worth_nothing(ada):
    old_app, (old_backup_code, last, *_) = await ada.use_app()
    assert (await ada.post("/auth/2fa/disable", password=ada.password, code=last)).status_code == 200
    app, _ = await ada.use_app()
    for code in (old_app.code(), old_backup_code):
        assert (await ada.try_login(totp_code=code)).status_code == 401
    assert (await ada.try_login(totp_code=app.code())).status_code == 200


async def test_a_recovery_key_turns_it_off_for_who_is_logged_in_and_works_once(ada):
    await ada.use_app()
    key = ada.recovery_keys[0]
    assert (await ada.post("/auth/2fa/recover", recovery_key="avrec-0-0-0")).status_code == 401
    assert (await ada.post("/auth/2fa/recover", recovery_key=key)).status_code == 200
    assert (await ada.try_login()).json()["requires_2fa"] is False
    await ada.use_app()
    assert (await ada.post("/auth/2fa/recover", recovery_key=key)).status_code == 401
    assert (await ada.post("/auth/2fa/recover", recovery_key=ada.recovery_keys[1])).status_code == 200


async def test_a_recovery_key_turns_it_off_for_who_has_the_password_and_no_session(ada):
    await ada.use_app()
    partial_token = await partial_login(ada)
    body = {"recovery_key": ada.recovery_keys[0]}
    nobody = await ada.registry.post("/auth/2fa/recover", json=body, headers=ada.registry.elsewhere())
    assert nobody.status_code == 401
    body["partial_token"] = partial_token
    answer = await ada.registry.post("/auth/2fa/recover", json=body, headers=ada.registry.elsewhere())
    assert answer.status_code == 200
    assert (await ada.try_login()).json()["requires_2fa"] is False


async def test_a_recovery_key_of_somebody_else_is_refused(ada):
    await ada.use_app()
    other = await person(ada.registry)
    answer = await ada.post("/auth/2fa/recover", recovery_key=other.recovery_keys[0])
    assert said(answer) == (401, "AUTH_FAILED")


async def test_a_recovery_key_is_kept_when_there_is_nothing_to_turn_off(ada):
    key = ada.recovery_keys[0]
    assert said(await ada.post("/auth/2fa/recover", recovery_key=key)) == (409, "TWO_FACTOR_OFF")
    await ada.use_app()
    assert (await ada.post("/auth/2fa/recover", recovery_key=key)).status_code == 200


# At rest


async def test_seeds_are_sealed_under_a_key_that_is_not_in_the_database(ada):
    app, backup_codes = await ada.use_app()
    row = await ada.registry.database.read(
        lambda tx: tx.fetchval("SELECT sealed_seed FROM people_second_factor")
    )
    kept = await ada.registry.database.read(
        lambda tx: tx.fetchval("SELECT string_agg(encode(code_hash, 'escape'), ' ') FROM people_backup_code")
    )
    assert app.seed.encode() not in row
    assert not [code for code in backup_codes if code in kept or code.replace("-", "") in kept]
    key = ada.registry.settings.data_dir / "keys" / "sealing-key"
    assert key.stat().st_mode & 0o777 == 0o600


async def test_a_seed_copied_to_another_account_does_not_open(ada):
    app, _ = await ada.use_app()
    eve = await (await person(ada.registry)).log_in()
    await eve.use_app()
    await change(
        ada.registry,
        "UPDATE people_second_factor e SET sealed_seed = a.sealed_seed, last_step = 0"
        " FROM people_second_factor a, people_developer d"
        " WHERE d.email = 'ada@example.org' AND a.developer_id = d.id AND e.developer_id != d.id",
    )
    assert (await eve.try_login(totp_code=app.code())).status_code == 401
