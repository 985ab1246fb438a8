"""Files that search engines of the web request: robots.txt, and a sitemap in pages of at most 50,000 addresses.

A page of the sitemap is a range of card numbers, so its address stays true however many cards come and go, and no page
is found by counting. Pages are written as they are read: none is held in memory whole.
"""

from collections.abc import AsyncIterator
from datetime import UTC
from urllib.parse import quote
from xml.sax.saxutils import escape

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx

from . import store
from .errors import SitemapPageUnknown
from .store import PageOfAgent

ADDRESSES_OF_A_PAGE = 50_000
RANGE_MAX = 10**9
READ_AT_ONCE = 2_000
FIXED_PAGES = ("/", "/catalogue", "/first-steps", "/docs", "/docs/problems")
NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def robots(settings: Settings) -> str:
    """Everything public may be read; the last lines say where to begin."""
    base = settings.base_url
    return (
        "User-agent: *\n"
        "Disallow: /set-password\n"
        "\n"
        f"Sitemap: {base}/sitemap.xml\n"
        f"Agentmap: {base}/.well-known/ard.json\n"
    )


async def sitemap_index(tx: Tx, settings: Settings) -> str:
    """The pages of the sitemap that hold something."""
    base = settings.base_url
    ranges = await store.ranges_in_use(tx, ADDRESSES_OF_A_PAGE)
    pages = [f"{base}/sitemap/pages.xml", *(f"{base}/sitemap/agents-{number}.xml" for number in ranges)]
    listed = "".join(f"<sitemap><loc>{escape(page)}</loc></sitemap>\n" for page in pages)
    return f'{HEAD}<sitemapindex xmlns="{NAMESPACE}">\n{listed}</sitemapindex>\n'


def sitemap_of_fixed_pages(settings: Settings) -> str:
    """The pages that every registry has."""
    listed = "".join(f"<url><loc>{escape(settings.base_url + page)}</loc></url>\n" for page in FIXED_PAGES)
    return f'{HEAD}<urlset xmlns="{NAMESPACE}">\n{listed}</urlset>\n'


async def sitemap_of_agents(database: Database, settings: Settings, number: int) -> AsyncIterator[str]:
    """One page of the sitemap, in pieces. Raises: SitemapPageUnknown before the first piece."""
    after, last = number * ADDRESSES_OF_A_PAGE, (number + 1) * ADDRESSES_OF_A_PAGE
    some = await _some_pages(database, after, last)
    if not some:
        raise SitemapPageUnknown
    return _written(database, settings.base_url, some, last)


async def _written(database: Database, base: str, some: list[PageOfAgent], last: int) -> AsyncIterator[str]:
    yield f'{HEAD}<urlset xmlns="{NAMESPACE}">\n'
    while some:
        yield "".join(
            f"<url><loc>{escape(base + _address(page))}</loc>"
            f"<lastmod>{page.changed_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}</lastmod></url>\n"
            for page in some
        )
        some = await _some_pages(database, some[-1].card_id, last)
    yield "</urlset>\n"


def _address(page: PageOfAgent) -> str:
    """Return the address of the page of an agent: under its DID, or under the number of a card without one."""
    return f"/agents/{quote(page.did, safe=':') if page.did else page.card_id}"


async def _some_pages(database: Database, after: int, last: int) -> list[PageOfAgent]:
    return await database.query(lambda tx: store.pages_between(tx, after, last, READ_AT_ONCE))
