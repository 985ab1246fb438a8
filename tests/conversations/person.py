"""A person with an account, who speaks to a registry: for the conversations about accounts."""

import itertools
import time
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import pyotp

from tests.registry import PASSWORD, TestRegistry

WRONG_PASSWORD = "Correct-Horse-8-Battery"
STEP_SECONDS = 30

_numbers = itertools.count(1)


@dataclass
class App:
    """An authenticator app: each code it shows is of a time step that it has not shown yet."""

    seed: str
    first_step: int = field(default_factory=lambda: int(time.time()) // STEP_SECONDS)
    shown: int = 0

    def code(self) -> str:
        """A code that is right now, and for half a minute more; there are two of them."""
        self.shown += 1
        return self.code_at(self.shown - 1)

    def code_at(self, steps: int) -> str:
        """The code of so many steps after the first one."""
        return pyotp.TOTP(self.seed).generate_otp(self.first_step + steps)

    def wrong_code(self) -> str:
        """Six digits that are right in no step near now."""
        near = {self.code_at(steps) for steps in range(-3, 4)}
        return next(code for code in ("000000", "111111", "222222", "333333") if code not in near)


@dataclass
class Person:
    """Somebody registered; `tokens` are of the last login."""

    registry: TestRegistry
    email: str
    recovery_keys: list[str]
    password: str = PASSWORD
    tokens: dict[str, Any] = field(default_factory=dict)

    async def try_login(self, password: str | None = None, **form: str) -> httpx2.Response:
        form = {"username": self.email, "password": password or self.password, **form}
        return await self.registry.post("/auth/login", data=form, headers=self.registry.elsewhere())

    async def log_in(self, **form: str) -> "Person":
        answer = await self.try_login(**form)
        assert answer.status_code == 200, answer.text
        self.tokens = answer.json()
        return self

    async def elsewhere(self) -> "Person":
        """The same person with a session of its own."""
        return await replace(self).log_in()

    async def post(self, path: str, **body: Any) -> httpx2.Response:
        return await self.registry.post(path, json=body, headers=self.headers)

    async def get(self, path: str) -> httpx2.Response:
        return await self.registry.get(path, headers=self.headers)

    async def delete(self, path: str) -> httpx2.Response:
        return await self.registry.http.delete("/api/v1" + path, headers=self.headers)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens['access_token']}", **self.registry.elsewhere()}

    async def is_logged_in(self) -> bool:
        return (await self.get("/auth/profile")).status_code == 200

    async def refresh(self) -> httpx2.Response:
        return await self.registry.post("/auth/refresh", json={"refresh_token": self.tokens["refresh_token"]})

    async def use_app(self) -> tuple[App, list[str]]:
        """Turn two-factor login on; the app and the backup codes."""
        app = App((await self.post("/auth/2fa/setup")).json()["secret"])
        answer = await self.post("/auth/2fa/verify", code=app.code())
        assert answer.status_code == 200, answer.text
        return app, answer.json()["backup_codes"]


async def person(registry: TestRegistry, email: str | None = None) -> Person:
    """Somebody registered, not logged in."""
    number = next(_numbers)
    body = {
        "name": f"Person {number}",
        "email": email or f"person{number}@example.org",
        "password": PASSWORD,
        "tos_accepted": True,
        "age_confirmed": True,
    }
    answer = await registry.post("/auth/register", json=body, headers=registry.elsewhere())
    assert answer.status_code == 201, answer.text
    return Person(registry, body["email"], answer.json()["recovery_keys"])


def said(answer: httpx2.Response) -> tuple[int, str]:
    """The status and the code of a refusal."""
    return answer.status_code, answer.json()["error"]["code"]
