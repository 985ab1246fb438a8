"""Phone of a person: its passkey and its cookie, enrolled over HTTP, and the answers that it sends."""

import re
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import httpx2

from tests.browsing import BrowserOf
from tests.conversations.person import Person
from tests.passkeys import Authenticator
from tests.registry import TestRegistry

COOKIE = "__Host-hansa_phone"
BASE_URL = "https://registry.example"
NUMBER = re.compile(r"data-number>([0-9]{2})<")


def authenticator_of(registry: TestRegistry) -> Authenticator:
    base_url = registry.settings.base_url
    return Authenticator(base_url, urlsplit(base_url).hostname)


@dataclass
class Phone:
    """Browser that was enrolled."""

    registry: TestRegistry
    id: str
    cookie: str
    authenticator: Authenticator

    @property
    def headers(self) -> dict[str, str]:
        return {"Cookie": f"{COOKIE}={self.cookie}", **self.registry.elsewhere()}

    async def waiting(self) -> list[dict[str, Any]]:
        answer = await self.registry.get("/auth/phone/sessions", headers=self.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def approve(self, login: dict[str, Any], number: str, **changed: Any) -> httpx2.Response:
        """Approve; `changed` are members of the authenticator that answers."""
        answering = replace(self.authenticator, **changed) if changed else self.authenticator
        body = {"number": number, "assertion": answering.get(login["challenge"])}
        return await self.answer(login, "approve", body)

    async def deny(self, login: dict[str, Any], *, not_me: bool = False) -> httpx2.Response:
        return await self.answer(login, "deny", {"not_me": not_me})

    async def answer(self, login: dict[str, Any], act: str, body: dict[str, Any]) -> httpx2.Response:
        path = f"/auth/phone/sessions/{login['id']}/{act}"
        return await self.registry.post(path, json=body, headers=self.headers)


async def enrol(
    who: Person,
    name: str = "Ada's phone",
    *,
    totp_code: str | None = None,
    authenticator: Authenticator | None = None,
) -> Phone:
    """A phone of a person who is logged in."""
    asked = await who.post("/auth/phone/devices/options", **({"totp_code": totp_code} if totp_code else {}))
    assert asked.status_code == 200, asked.text
    made = authenticator or authenticator_of(who.registry)
    answer = await who.post(
        "/auth/phone/devices", name=name, credential=made.create(asked.json()["publicKey"])
    )
    assert answer.status_code == 201, answer.text
    cookie = re.match(rf"{COOKIE}=([^;]+);", answer.headers["set-cookie"])
    assert cookie
    return Phone(who.registry, answer.json()["id"], cookie[1], made)


async def begin_login(who: Person) -> BrowserOf:
    """A browser that gave the right password and waits."""
    browser = BrowserOf(who.registry)
    await browser.open("/login")
    await browser.send("/login", email=who.email, password=who.password)
    return browser


def number_of(browser: BrowserOf) -> str:
    found = NUMBER.search(browser.text)
    assert found, browser.text[-3000:]
    return found[1]


def other_than(number: str) -> str:
    return f"{(int(number) + 1) % 100:02d}"
