"""Which of these tests are for which tier."""

from tests.operation.conftest import operated
from tests.properties.scale import TIER

__all__ = ["operated"]

# Mounting a small disk takes the right to mount, which whoever runs the tests of a commit need not have.
collect_ignore = ["test_disk_full.py"] if TIER == 0 else []
