"""A crowd at the login: only so many passwords wait, the others get a Retry-After, and nothing is left behind."""

import pytest

from hansa.rooms.people import passwords
from tests.conversations.person import person, said
from tests.registry import at_once

pytestmark = pytest.mark.usefixtures("hash_passwords_with_all_the_work")
WAITING_MAX = 3


@pytest.fixture
async def crowd(registry, monkeypatch):
    """Somebody each, registered; then fewer passwords may wait than they are."""
    people = [await person(registry) for _ in range(8)]
    monkeypatch.setattr(passwords, "WAITING_MAX", WAITING_MAX)
    return people


async def test_more_passwords_than_may_wait_are_refused_with_a_time_to_come_back(crowd):
    answers = await at_once(*(one.try_login() for one in crowd))
    refused = [answer for answer in answers if answer.status_code != 200]
    assert len(crowd) - len(refused) >= WAITING_MAX
    assert refused
    assert {said(answer) for answer in refused} == {(503, "SERVICE_UNAVAILABLE")}
    assert {answer.headers["Retry-After"] for answer in refused} == {str(passwords.COME_BACK_SECONDS)}


async def test_after_the_crowd_everybody_is_let_in_again(crowd):
    await at_once(*(one.try_login() for one in crowd))
    for one in crowd:
        assert (await one.try_login()).status_code == 200


async def test_other_routes_are_answered_while_passwords_wait(crowd):
    registry = crowd[0].registry
    answers = await at_once(*(one.try_login() for one in crowd), registry.get("/auth/registration-config"))
    assert answers[-1].status_code == 200
