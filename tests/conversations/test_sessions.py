"""Sessions: where an account is logged in, and ending one of them."""

from uuid import uuid4

import pytest

from tests.conversations.person import person, said


@pytest.fixture
async def ada(registry):
    return await (await person(registry)).log_in()


async def sessions(someone, **query):
    answer = await someone.registry.get("/auth/sessions", headers=someone.headers, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_the_sessions_of_the_account_are_listed_with_who_holds_them(registry):
    ada = await person(registry)
    form = {"username": ada.email, "password": ada.password}
    headers = {"User-Agent": "Analytical Engine/1", "X-Forwarded-For": "2001:db8:1:2:3::4"}
    ada.tokens = (await registry.post("/auth/login", data=form, headers=headers)).json()
    listed = await sessions(ada)
    (session,) = listed["items"]
    assert listed["pagination"]["total_items"] == 1
    assert set(session) == {"id", "opened_at", "last_used_at", "client", "address", "is_current"}
    assert (session["client"], session["address"]) == ("Analytical Engine/1", "2001:db8:1:2::/64")
    assert session["is_current"] is True


@pytest.mark.parametrize("length", [1, 20, 257, 4000, 100_000])
async def test_a_token_of_another_kind_is_401_whatever_its_length(registry, length):
    token = "x" * length
    refused = await registry.post("/auth/refresh", json={"refresh_token": token})
    assert said(refused) == (401, "AUTH_FAILED")
    refused = await registry.post("/auth/2fa/validate", json={"partial_token": token, "code": "123456"})
    assert said(refused) == (401, "AUTH_FAILED")


async def test_an_access_token_refreshes_nothing(ada):
    refused = await ada.registry.post("/auth/refresh", json={"refresh_token": ada.tokens["access_token"]})
    assert said(refused) == (401, "AUTH_FAILED")


async def test_the_session_used_last_comes_first_and_ones_own_is_marked(ada):
    other = await ada.elsewhere()
    assert [one["is_current"] for one in (await sessions(ada))["items"]] == [False, True]
    ada.tokens = (await ada.refresh()).json()
    first, second = (await sessions(ada))["items"]
    assert (first["is_current"], second["is_current"]) == (True, False)
    assert first["last_used_at"] > first["opened_at"]
    assert [one["is_current"] for one in (await sessions(other))["items"]] == [False, True]


async def test_sessions_come_in_pages(ada):
    for _ in range(2):
        await ada.elsewhere()
    listed = await sessions(ada, limit=2, offset=2)
    assert len(listed["items"]) == 1
    assert listed["pagination"]["total_items"] == 3


async def test_a_page_out_of_bounds_is_a_validation_error(ada):
    for query in ({"limit": 0}, {"limit": 201}, {"offset": -1}, {"offset": 2**31}):
        answer = await ada.registry.get("/auth/sessions", headers=ada.headers, params=query)
        assert (query, answer.status_code) == (query, 422)


async def test_ending_one_session_ends_its_tokens_and_no_other(ada):
    other = await ada.elsewhere()
    (theirs,) = [one for one in (await sessions(ada))["items"] if not one["is_current"]]
    answer = await ada.delete(f"/auth/sessions/{theirs['id']}")
    assert (answer.status_code, bool(answer.json()["message"])) == (200, True)
    assert not await other.is_logged_in()
    assert (await other.refresh()).status_code == 401
    assert await ada.is_logged_in()
    assert len((await sessions(ada))["items"]) == 1


async def test_ones_own_session_can_be_ended(ada):
    (own,) = (await sessions(ada))["items"]
    assert (await ada.delete(f"/auth/sessions/{own['id']}")).status_code == 200
    assert not await ada.is_logged_in()


async def test_a_session_that_is_unknown_ended_or_somebody_elses_is_404_alike(ada):
    eve = await (await person(ada.registry)).log_in()
    (hers,) = (await sessions(eve))["items"]
    other = await ada.elsewhere()
    (gone,) = [one for one in (await sessions(ada))["items"] if not one["is_current"]]
    await ada.delete(f"/auth/sessions/{gone['id']}")
    answers = [await ada.delete(f"/auth/sessions/{one}") for one in (hers["id"], gone["id"], uuid4())]
    assert [said(answer) for answer in answers] == [(404, "RESOURCE_NOT_FOUND")] * 3
    assert len({answer.json()["detail"] for answer in answers}) == 1
    assert await eve.is_logged_in()
    assert not await other.is_logged_in()


async def test_a_session_that_nothing_can_continue_is_not_listed(ada):
    await ada.elsewhere()
    await ada.registry.database.transaction(
        lambda tx: tx.execute("UPDATE people_session SET continued_at = continued_at - interval '7 days'")
    )
    assert (await sessions(await ada.elsewhere()))["pagination"]["total_items"] == 1


async def test_what_has_ended_is_forgotten_and_what_is_open_is_not(ada):
    from hansa.rooms.people.expiry import forget_ended

    async def rows(tx):
        return await tx.fetchrow(
            "SELECT (SELECT count(*) FROM people_session) AS sessions,"
            " (SELECT count(*) FROM people_refresh_token) AS tokens"
        )

    old = await ada.elsewhere()
    await old.refresh()
    await ada.registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE people_session SET continued_at = continued_at - interval '9 days'"
            " WHERE id IN (SELECT session_id FROM people_refresh_token WHERE used_at IS NOT NULL)"
        )
    )
    await ada.registry.database.transaction(forget_ended)
    assert tuple(await ada.registry.database.read(rows)) == (2, 3)
    await ada.registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE people_refresh_token SET expires_at = expires_at - interval '8 days'"
            " WHERE session_id IN (SELECT session_id FROM people_refresh_token WHERE used_at IS NOT NULL)"
        )
    )
    await ada.registry.database.transaction(forget_ended)
    assert tuple(await ada.registry.database.read(rows)) == (1, 1)
    assert await ada.is_logged_in()
    assert (await ada.refresh()).status_code == 200
