"""Pages with forms, pages of a person who is logged in, and answers that lead to another page."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from hansa.doors.console.navigation import Group, current_link, side_groups
from hansa.doors.console.rendering import page
from hansa.foundation.plumbing.process.runtime import runtime_of

from .forms import SentForm

# Without a referrer a browser sends `Origin: null` with a form.
FORM_HEADERS = {"Referrer-Policy": "same-origin", "Cache-Control": "no-store", "Vary": "Cookie"}
FRONT_OF_ACCOUNT = "/account"


def form_page(
    request: Request, template: str, form: SentForm | None = None, *, status: int = 200, **content: Any
) -> HTMLResponse:
    """A page with a form for everybody."""
    answer = page(request, template, status=status, form=form or SentForm(), **content)
    return _private(answer)


def account_page(
    request: Request,
    template: str,
    person: Any,
    form: SentForm | None = None,
    *,
    status: int = 200,
    section: str | None = None,
    groups: Sequence[Group] | None = None,
    **content: Any,
) -> HTMLResponse:
    """A page of a person who is logged in (`SignedIn`), with the navigation of that person, or with `groups`.

    A form that is refused is answered with its page: its path stands below that of the page, or `section` names the page.
    """
    path = section or request.url.path
    if groups is None:
        has_market = runtime_of(request).settings.exchange_enabled
        groups = side_groups(person.areas, path, has_market=has_market)
    answer = page(
        request,
        template,
        status=status,
        person=person,
        side_groups=groups,
        side_link=current_link(groups, path),
        form=form or SentForm(),
        **content,
    )
    return _private(answer)


def see_other(address: str) -> Response:
    """Lead the browser to another page of the registry, so that a reload sends no form again."""
    return RedirectResponse(address, status_code=303)


def own_path(address: str) -> str:
    """The address, where it is a page of this registry; the front page of the account otherwise."""
    parts = urlsplit(address)
    is_own = (
        address.startswith("/")
        and not address.startswith(("//", "/\\"))
        and not parts.scheme
        and not parts.netloc
        and address.isprintable()
        and "\\" not in address
        and " " not in address
        and address.isascii()
    )
    return address if is_own else FRONT_OF_ACCOUNT


def _private(answer: HTMLResponse) -> HTMLResponse:
    vary = answer.headers.get("Vary")
    answer.headers.update(FORM_HEADERS)
    if vary:
        answer.headers["Vary"] = f"{vary}, Cookie"
    return answer
