import pytest

from hansa.foundation.values.errors import HostRefused
from hansa.foundation.values.web_address import is_http_url
from hansa.rooms.catalogue.hosts import host_address


@pytest.mark.parametrize(
    "address",
    [
        "ftp://agent.example.org",
        "file:///etc/passwd",
        "agent.example.org",
        "https://",
        "https://user@agent.example.org",
        "https://user:word@agent.example.org",
        "https://agent.example.org:99999",
        "https://agent.example.org:port",
        "https://agent.example.org:22",
        "https://agent.example.org?x=1",
        "https://agent.example.org#x",
        "https://agent.example.org\\@127.0.0.1",
        "https://[::1",
        "https://[v1.a]",
        "https://a\tb.example.org",
        "https://*.example.org",
        "https://-a.example.org",
        "https://a..example.org",
        "https://" + "a" * 64 + ".example.org",
        "",
        "https://" + "a" * 3000 + ".example.org",
    ],
)
def test_a_host_that_is_no_http_address_is_refused(address):
    with pytest.raises(HostRefused):
        host_address(address)


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("https://agent.example.org", "https://agent.example.org"),
        ("https://agent.example.org/", "https://agent.example.org"),
        ("http://agent.example.com:8080/base/", "http://agent.example.com:8080/base"),
        ("https://8.8.8.8", "https://8.8.8.8"),
        ("https://[2606:4700::1111]:8443", "https://[2606:4700::1111]:8443"),
        ("https://xn--bcher-kva.example.net", "https://xn--bcher-kva.example.net"),
        ("http://127.0.0.1:9000/", "http://127.0.0.1:9000"),
        ("http://[::1]:9000/", "http://[::1]:9000"),
        ("http://localhost", "http://localhost"),
        ("https://router.local/agent", "https://router.local/agent"),
    ],
)
def test_a_host_is_taken_public_or_private(address, kept):
    assert host_address(address) == kept


def test_the_operator_lets_a_named_port_through():
    assert (
        host_address("http://agent.example.org:22/", ["agent.example.org:22"])
        == "http://agent.example.org:22"
    )


@pytest.mark.parametrize(
    "text", ["javascript:alert(1)", "//example.org", "https://a\nb", "http://[", "http://u@h.org"]
)
def test_only_http_and_https_urls_without_credentials_are_urls(text):
    assert not is_http_url(text)
