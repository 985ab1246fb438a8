"""A process that runs follows the file of its authority, and no file that is not the one of its registry."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from hansa.foundation.plumbing.keys.authority import KEY_NAME, IdentityAuthority, new_authority
from hansa.foundation.plumbing.keys.key_files import BadKey, Keyring
from hansa.foundation.values.errors import Conflict
from hansa.rooms.federation.peers import FOLLOW_AUTHORITY
from tests.registry import TestRegistry

DOMAIN = "hansa.local"


def file_in(directory: Path) -> Path:
    return directory / "keys" / f"{KEY_NAME}.pem"


def test_a_file_that_changed_is_used_once_it_is_taken(tmp_path: Path):
    authority = IdentityAuthority(Keyring(tmp_path), DOMAIN)
    assert authority.changed() is None
    other = new_authority(DOMAIN)
    file_in(tmp_path).write_bytes(other.pem)
    found = authority.changed()
    assert found is not None
    before = authority.revision
    authority.use(found)
    assert (authority.bundle_pem, authority.changed()) == (other.bundle_pem, None)
    assert authority.revision > before
    svid = authority.issue(f"spiffe://{DOMAIN}/x", now=datetime.now(UTC), lifetime=timedelta(hours=1))
    leaf = x509.load_pem_x509_certificate(svid.certificate_pem.encode())
    leaf.verify_directly_issued_by(other.certificate)


def test_a_file_that_is_lost_is_not_made_anew_by_a_process_that_runs(tmp_path: Path):
    authority = IdentityAuthority(Keyring(tmp_path), DOMAIN)
    file_in(tmp_path).unlink()
    assert authority.changed() is None
    assert not file_in(tmp_path).exists()


def test_a_file_of_another_trust_domain_is_refused(tmp_path: Path):
    authority = IdentityAuthority(Keyring(tmp_path), DOMAIN)
    file_in(tmp_path).write_bytes(new_authority("other.example").pem)
    with pytest.raises(BadKey):
        authority.changed()


async def test_a_running_registry_uses_no_key_that_its_database_does_not_record(registry: TestRegistry):
    authority = registry.runtime.authority
    assert authority is not None
    before = authority.bundle_pem
    file = file_in(registry.settings.data_dir)
    kept = file.read_bytes()
    file.write_bytes(new_authority(registry.settings.trust_domain).pem)
    try:
        with pytest.raises(Conflict):
            await FOLLOW_AUTHORITY.work(registry.runtime)
    finally:
        file.write_bytes(kept)
    assert authority.bundle_pem == before
