"""Hostile strings in every field of every form of the console: no mistake of ours, and none comes back as markup."""

import random
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from hansa.doors.console.access import new_form_key
from hansa.foundation.plumbing.storage import clock
from tests.browsing import BrowserOf
from tests.doors.pages_read import ReadPage
from tests.hostile.console_forms import CONSOLE_FORMS, form_key, headers_of_a_page
from tests.hostile.corpus import HOSTILE
from tests.hostile.well_formed import EVERYTHING_ON, Stage, set_stage, well_formed
from tests.house.rights import read_rights
from tests.properties.scale import by_tier, printed_seed
from tests.registry import StartRegistry

STRINGS_PER_FIELD = by_tier(3, 40, len(HOSTILE))
MARKUP = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'><svg/onload=alert(1)>")
# Some of the strings are good passwords.
WITHOUT_EFFECT = {"POST /account/change-password": {"current_password": "not the password"}}
OF_A_PERSON = ("POST /account", "POST /confirm", "POST /docs")


@pytest.fixture
async def stage(start_registry: StartRegistry) -> Stage:
    return await set_stage(await start_registry(**EVERYTHING_ON))


def spoilings(fields: Mapping[str, Any], draw: random.Random) -> Iterator[tuple[str, str]]:
    """Yield the fields of a form, each with the texts that it gets."""
    for name in fields:
        for text in (*MARKUP, *draw.sample(HOSTILE, STRINGS_PER_FIELD)):
            # A browser replaces what it cannot encode.
            yield name, text.encode("utf-8", "replace").decode()


async def fresh_key(stage: Stage, operation: str) -> str:
    """The key of a form that was opened now."""
    if operation.startswith(OF_A_PERSON):
        return await form_key(stage.registry, stage.developer)
    now = await stage.registry.database.query(clock.now)
    return new_form_key(stage.registry.runtime.seal, None, now)


async def test_no_form_of_another_site_and_none_without_a_key_of_the_registry_is_carried_out(stage: Stage):
    browser = await BrowserOf(stage.registry).log_in(stage.developer.email)
    faults = []
    for operation in CONSOLE_FORMS:
        filled = await well_formed(operation, stage)
        form = dict(filled.form or {})
        elsewhere = {
            **stage.registry.elsewhere(),
            "Origin": "https://evil.example",
            "Sec-Fetch-Site": "cross-site",
        }
        answer = await browser.http.post(filled.path, data=form, headers=elsewhere)
        if (answer.status_code, "CROSS_SITE_FORM" in answer.text) != (403, True):
            faults.append(f"{operation} from another site: {answer.status_code}")
        if form.pop("form_key", None) is None:
            continue
        here = {**stage.registry.elsewhere(), **headers_of_a_page(stage.registry)}
        answer = await browser.http.post(filled.path, data={**form, "x": "y"}, headers=here)
        if (answer.status_code, "FORM_EXPIRED" in answer.text) != (409, True):
            faults.append(f"{operation} without a key: {answer.status_code}")
    assert not faults, "\n".join(faults)
    assert (await browser.open("/account")).url.path == "/account", "the session did not last"


async def test_every_page_of_a_person_is_private(stage: Stage):
    browsers = {
        "GET /docs/operations/{name}/run": await BrowserOf(stage.registry).log_in(stage.developer.email),
        "GET /account": await BrowserOf(stage.registry).log_in(stage.developer.email),
        "GET /administration": await BrowserOf(stage.registry).log_in(stage.administrator.email),
    }
    pages = [row.operation for row in read_rights() if row.operation.startswith(tuple(browsers))]
    assert len(pages) > 40
    for operation in pages:
        request = await well_formed(operation, stage)
        browser = next(one for start, one in browsers.items() if operation.startswith(start))
        answer = await browser.open(request.path)
        assert (operation, answer.status_code) == (operation, 200)
        assert answer.headers["cache-control"] == "no-store", operation
        assert "Cookie" in answer.headers["vary"], operation
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        policy = answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy, operation
        assert "unsafe" not in policy, operation
        page = ReadPage(answer.text)
        assert page.inline == [], operation
        assert [name for name in page.attributes if name == "style" or name.startswith("on")] == [], operation
        foreign = [address for address in page.addresses if not re.match(r"/(?!/)|[#?]", address)]
        assert foreign == [], operation


async def test_no_string_in_a_form_makes_us_fail_or_comes_back_as_markup(stage: Stage):
    draw = random.Random(printed_seed())
    browser = await BrowserOf(stage.registry).log_in(stage.developer.email)
    sent, faults = 0, []
    for operation in CONSOLE_FORMS:
        filled = await well_formed(operation, stage)
        form = {**(filled.form or {}), **WITHOUT_EFFECT.get(operation, {})}
        for name, text in spoilings(form, draw):
            fields = {**form, "form_key": await fresh_key(stage, operation), name: text}
            client = (
                browser.http if operation.startswith(("POST /account", "POST /docs")) else stage.registry.http
            )
            answer = await client.post(
                filled.path,
                data=fields,
                headers={
                    "Accept": "text/html",
                    **headers_of_a_page(stage.registry),
                    **stage.registry.elsewhere(),
                },
            )
            sent += 1
            if answer.status_code >= 500 or (text in MARKUP and text in answer.text):
                faults.append(f"{operation} {name}={text!r:.80}: {answer.status_code}")
    print(f"{sent} requests")
    assert not faults, "\n".join(faults)
    assert (await browser.open("/account")).url.path == "/account", "the session did not last"
