"""End of the account of a developer: the stored bundles are erased."""

from hansa.foundation.plumbing.room import AccountEnd

from . import store

ACCOUNT_END_OF_BUNDLES = AccountEnd(erase=store.delete_of)
