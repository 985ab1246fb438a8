"""Metadata documents of clients (Client ID Metadata Documents): fetched by the guard of outgoing calls, kept as long as they say.

A document counts only as the answer 200 of its own address with itself as `client_id`. Failures are never kept.
"""

import re
from typing import Any

import msgspec

from hansa.foundation.plumbing.outgoing import Answer, CallLimits, NamedBy, OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.web.limits import Limit, admit

from . import rules, store
from .errors import ClientRefused

LIMITS = CallLimits(seconds=5.0, body_bytes=16 * 1024)
DOCUMENTS_PER_HOST = Limit("client-document", 10)
KEPT_SECONDS_MIN = 5 * 60
KEPT_SECONDS_MAX = 24 * 3600
OK = 200

_MAX_AGE = re.compile(r"(?:^|[\s,])max-age=([0-9]{1,9})(?:$|[\s,])", re.ASCII | re.IGNORECASE)


class _Document(msgspec.Struct):
    client_id: str
    redirect_uris: list[str]
    client_name: str | None = None
    token_endpoint_auth_method: str = "none"  # noqa: S105


async def read_document(runtime: Runtime, client_id: str, host: str) -> store.ClientDocument:
    """The document at this address, kept or fetched. Raises: ClientRefused, TooManyRequests."""
    database = runtime.database
    kept = await database.query(lambda tx: store.find_document(tx, client_id))
    if kept is not None:
        return kept
    await admit(database, DOCUMENTS_PER_HOST, host)
    try:
        answer = await runtime.outgoing.get(
            client_id, named_by=NamedBy.USER, headers={"Accept": "application/json"}, limits=LIMITS
        )
    except OutgoingTrouble as trouble:
        raise ClientRefused(
            f"The metadata document of the client cannot be read: {trouble.reason}."
        ) from None
    document = _read(client_id, host, answer, runtime.settings.oauth_redirect_schemes)
    seconds = _kept_seconds(answer)
    await database.execute(lambda tx: store.keep_document(tx, client_id, document, seconds))
    return document


def _read(client_id: str, host: str, answer: Answer, schemes: Any) -> store.ClientDocument:
    """Raises: ClientRefused."""
    media_type = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = media_type == "application/json" or (
        media_type.startswith("application/") and media_type.endswith("+json")
    )
    if answer.status != OK or not is_json:
        raise ClientRefused("The metadata document of the client is not an answer 200 with JSON.")
    try:
        document = msgspec.json.decode(answer.body, type=_Document)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError):
        raise ClientRefused(
            "The metadata document of the client does not have the required members."
        ) from None
    if document.client_id != client_id:
        raise ClientRefused("The metadata document of the client names another client_id.")
    if document.token_endpoint_auth_method != "none":  # noqa: S105
        raise ClientRefused("The metadata document of the client asks for another authentication than none.")
    redirects = document.redirect_uris
    if not 1 <= len(redirects) <= rules.REDIRECTS_OF_DOCUMENT_MAX:
        raise ClientRefused("The metadata document of the client has no redirect URI, or too many.")
    if not all(rules.is_redirect(one, schemes) for one in redirects):
        raise ClientRefused(
            "The metadata document of the client has a redirect URI that is not accepted here."
        )
    name = rules.client_name(document.client_name) or host[: rules.NAME_MAX_CHARACTERS]
    return store.ClientDocument(name, tuple(redirects))


def _kept_seconds(answer: Answer) -> int:
    found = _MAX_AGE.search(answer.headers.get("cache-control", ""))
    asked = int(found[1]) if found else 0
    return min(max(asked, KEPT_SECONDS_MIN), KEPT_SECONDS_MAX)
