"""The certificate authorities that clients trust are read once for a process, and again where the environment names others."""

from pathlib import Path

import httpcore2
import pytest

from hansa_client import Registry
from hansa_client.trust import trusted_authorities
from tests.spire import SpireAuthority


@pytest.mark.usefixtures("nothing_is_read_yet")
def test_the_clients_of_a_process_read_them_once(monkeypatch: pytest.MonkeyPatch):
    readings: list[bool] = []
    read = httpcore2.default_ssl_context

    def counted(*, _trust_env: bool = True) -> object:
        readings.append(_trust_env)
        return read(_trust_env=_trust_env)

    monkeypatch.setattr(httpcore2, "default_ssl_context", counted)
    for _ in range(3):
        Registry("https://registry.example").close()
    assert readings == [True]


@pytest.mark.usefixtures("nothing_is_read_yet")
def test_the_environment_can_name_others_where_it_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    usual = trusted_authorities().get_ca_certs(binary_form=True)
    own = SpireAuthority("own.example")
    (tmp_path / "authorities.pem").write_text(own.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authorities.pem"))
    assert trusted_authorities().get_ca_certs(binary_form=True) == [own.der]
    assert trusted_authorities(trust_env=False).get_ca_certs(binary_form=True) == usual
    monkeypatch.delenv("SSL_CERT_FILE")
    assert trusted_authorities().get_ca_certs(binary_form=True) == usual
