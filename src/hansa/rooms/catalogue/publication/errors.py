"""Why the front doors refuse."""

from hansa.foundation.values.errors import NotFound


class SitemapPageUnknown(NotFound):
    """The sitemap has no page with that number, or nothing of it may be shown any more."""

    code = "SITEMAP_PAGE_UNKNOWN"
    sentence = "The sitemap has no such page; /sitemap.xml lists those that it has."
