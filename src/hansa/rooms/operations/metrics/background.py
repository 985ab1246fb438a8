"""Background work of metrics beside the counting: what is older than it is stored for goes."""

from hansa.foundation.plumbing.jobs import sweep_of

from . import store

FORGET_OLD = sweep_of("operations: forget old metrics", 60, store.has_old, store.forget_old)
