"""`market`: listings of an organization of the developer, and decisions of administrators."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from .callers import Caller, as_developer
from .market import Ref, app, listing_line, show_listing
from .options import Key, OrganizationName, examples

__all__ = ["app"]

TermsFile = Annotated[
    Path, typer.Argument(help="JSON file with the terms: those of the guide, all of them for a draft.")
]


@app.command("own", epilog=examples("hansa-client market own", "hansa-client market own GUILD"))
@as_developer
def read_own(
    own: Caller, ref: Annotated[str | None, typer.Argument(help="Reference of one listing.")] = None
) -> None:
    """List listings as the developer reads them, or show one, drafts and those under review included."""
    from .opening import show

    if ref is not None:
        show_listing(own.registry.listings.read(ref), as_json=own.as_json)
        return
    found = own.registry.listings.list()
    show("\n".join(map(listing_line, found.listings)) or "No listings.", found, as_json=own.as_json)


@app.command("draft", epilog=examples("hansa-client market draft guild terms.json"))
@as_developer
def draft(own: Caller, organization: OrganizationName, file: TermsFile, *, key: Key = None) -> None:
    """Draft an offer of points of a public organization, as an admin."""
    from hansa_client.records.market import ListingTerms

    from .opening import read_json_file

    terms = read_json_file(file, ListingTerms)
    show_listing(own.registry.listings.draft(organization, terms, key=key), as_json=own.as_json)


@app.command("change", epilog=examples("hansa-client market change GUILD terms.json"))
@as_developer
def change(own: Caller, ref: Ref, file: TermsFile) -> None:
    """Change terms of a draft, as an admin."""
    from hansa_client.records.market import ListingChanges

    from .opening import read_json_file

    changes = read_json_file(file, ListingChanges)
    show_listing(own.registry.listings.change(ref, changes), as_json=own.as_json)


@app.command("submit", epilog=examples("hansa-client market submit GUILD"))
@as_developer
def submit(own: Caller, ref: Ref, *, key: Key = None) -> None:
    """Bring a draft into review, as an admin; it becomes a request where others must agree."""
    from .treasury import show_request

    show_request(own.registry.listings.submit(ref, key=key), as_json=own.as_json)


@app.command("withdraw", epilog=examples("hansa-client market withdraw GUILD"))
@as_developer
def withdraw(own: Caller, ref: Ref, *, key: Key = None) -> None:
    """Take a listing under review back, as an admin."""
    show_listing(own.registry.listings.withdraw(ref, key=key), as_json=own.as_json)


@app.command("decide", epilog=examples('hansa-client market decide GUILD approve --reason "It is sound."'))
@as_developer
def decide(
    own: Caller,
    ref: Ref,
    act: Annotated[
        Literal["approve", "reject", "delist", "halt", "resume"],
        typer.Argument(
            help="The decision; `halt` and `resume` are of enforcement, the others of the platform."
        ),
    ],
    *,
    reason: Annotated[str, typer.Option(help="Reason, which is public.")],
    key: Key = None,
) -> None:
    """Decide on a listing, as an administrator."""
    show_listing(own.registry.listings.decide(ref, act, reason, key=key), as_json=own.as_json)
