"""Why the front doors refuse."""

from hansa.foundation.values.errors import NotFound


class SitemapPageUnknown(NotFound):
    """The sitemap has no page with this number, or its content was removed."""

    code = "SITEMAP_PAGE_UNKNOWN"
    sentence = "The sitemap has no such page; /sitemap.xml lists its pages."
