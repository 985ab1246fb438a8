"""The areas of administration. An area that is not in this list does not exist."""

ADMIN_AREAS = (
    "admin_platform",
    "admin_federation",
    "admin_treasury",
    "admin_enforcement",
    "admin_support",
)
