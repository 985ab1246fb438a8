"""A person at a browser without scripts: opens pages, fills in forms, and keeps cookies as a browser does."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import httpx2
import pyotp

from tests.registry import PASSWORD, TestDeveloper, TestRegistry
from tests.unknown_paths import HOOKS


@dataclass
class FoundForm:
    """Form of a page with the values of its fields."""

    action: str
    fields: list[tuple[str, str]] = field(default_factory=list)


class Forms(HTMLParser):
    """Every form of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[FoundForm] = []
        self._area: str | None = None
        self._select: str | None = None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name, value = given.get("name") or "", given.get("value") or ""
        if tag == "form":
            self.found.append(FoundForm(given.get("action") or ""))
        elif tag == "input" and name:
            if given.get("type") not in {"checkbox", "radio"} or "checked" in given:
                self.found[-1].fields.append((name, value))
        elif tag == "textarea":
            self._area = name
            self.found[-1].fields.append((name, ""))
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select and "selected" in given:
            self.found[-1].fields.append((self._select, value))

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            name, text = self.found[-1].fields[-1]
            self.found[-1].fields[-1] = (name, text + data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._area is not None:
            name, text = self.found[-1].fields[-1]
            self.found[-1].fields[-1] = (name, text.removeprefix("\n"))
            self._area = None
        elif tag == "select":
            self._select = None


class BrowserOf:
    """A browser of one person: `await browser.open("/login")`, `await browser.send("/login", email=...)`."""

    def __init__(self, registry: TestRegistry) -> None:
        self.registry = registry
        self.http = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=registry.app, raise_app_exceptions=False),
            base_url=registry.settings.base_url,
            headers={"Accept": "text/html", **registry.elsewhere()},
            event_hooks=HOOKS,
        )
        self.page: httpx2.Response

    @property
    def text(self) -> str:
        """The page that is open."""
        return self.page.text

    async def open(self, path: str) -> httpx2.Response:
        """Open a page and follow where it leads."""
        self.page = await self.http.get(path, follow_redirects=True)
        return self.page

    def form(self, action: str) -> FoundForm:
        """The form of the open page that goes to `action`."""
        found = [form for form in Forms(self.page.text).found if form.action == action]
        assert found, f"no form to {action} on {self.page.url}: {self.page.text[:2000]}"
        return found[0]

    async def send(self, action: str, /, **fields: str | list[str]) -> httpx2.Response:
        """Fill in the form of the open page and send it."""
        form = self.form(action)
        return await self.post(action, [pair for pair in form.fields if pair[0] not in fields], **fields)

    async def post(
        self, action: str, /, kept: list[tuple[str, str]] | None = None, **fields: Any
    ) -> httpx2.Response:
        """Send a form as a page of the registry does."""
        pairs = list(kept or [])
        for name, value in fields.items():
            pairs += [(name, one) for one in ([value] if isinstance(value, str) else value)]
        self.page = await self.http.post(
            action,
            content=str(httpx2.QueryParams(pairs)),
            headers={
                "Content-Type": "application/x-www-form-urlencoded",
                "Origin": self.registry.settings.base_url,
                "Sec-Fetch-Site": "same-origin",
                **self.registry.elsewhere(),
            },
            follow_redirects=True,
        )
        return self.page

    async def upload(self, action: str, file: bytes) -> httpx2.Response:
        """Send the form of the open page with a file."""
        self.page = await self.http.post(
            action,
            data=dict(self.form(action).fields),
            files={"file": ("file", file)},
            headers={
                "Origin": self.registry.settings.base_url,
                "Sec-Fetch-Site": "same-origin",
                **self.registry.elsewhere(),
            },
            follow_redirects=True,
        )
        return self.page

    async def log_in(self, email: str, password: str = PASSWORD) -> "BrowserOf":
        await self.open("/login")
        await self.send("/login", email=email, password=password)
        return self

    async def idle(self, minutes: int) -> None:
        """Let the time go by for every session."""
        await self.registry.database.transaction(
            lambda tx: tx.execute(
                "UPDATE people_session SET opened_at = opened_at - make_interval(mins => $1),"
                " continued_at = continued_at - make_interval(mins => $1),"
                " proved_at = proved_at - make_interval(mins => $1),"
                " expires_at = expires_at - make_interval(mins => $1)",
                minutes,
            )
        )


async def browser_of(registry: TestRegistry, developer: TestDeveloper | None = None) -> BrowserOf:
    """A browser in which a developer, or a new one, is logged in."""
    developer = developer or await registry.developer()
    return await BrowserOf(registry).log_in(developer.email)


async def turn_on_two_factors(
    registry: TestRegistry, developer: TestDeveloper
) -> tuple[pyotp.TOTP, list[str]]:
    """The app of a developer who has two-factor login on from now, and the backup codes."""
    setup = await registry.post("/auth/2fa/setup", headers=developer.headers)
    app = pyotp.TOTP(setup.json()["secret"])
    verified = await registry.post("/auth/2fa/verify", json={"code": app.now()}, headers=developer.headers)
    assert verified.status_code == 200, verified.text
    return app, verified.json()["backup_codes"]
