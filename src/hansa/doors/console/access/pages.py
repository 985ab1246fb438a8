"""Pages with forms, pages of a person who is logged in, and answers that lead to another page."""

from typing import Any
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from hansa.doors.console.navigation import links_for
from hansa.doors.console.rendering import page

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
    **content: Any,
) -> HTMLResponse:
    """A page of a person who is logged in (`SignedIn`), with the navigation of that person."""
    answer = page(
        request,
        template,
        status=status,
        person=person,
        links=links_for(person.areas),
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
