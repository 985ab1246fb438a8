import pytest

from hansa.foundation.words.errors import HostRefused
from hansa.foundation.words.web_address import is_http_url
from hansa.rooms.catalogue.hosts import pullable_host
from tests.hostile import closed_hosts


@pytest.mark.parametrize("name", closed_hosts.hosts())
def test_a_host_that_can_never_be_pulled_is_refused(name):
    for address in (f"http://{name}", f"https://{name}:8443/agents/"):
        with pytest.raises(HostRefused):
            pullable_host(address)


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
        "https://agent.example.org?x=1",
        "https://agent.example.org#x",
        "https://agent.example.org\\@127.0.0.1",
        "https://[::1",
        "https://a\tb.example.org",
        "",
        "https://" + "a" * 3000 + ".example.org",
    ],
)
def test_a_host_that_is_no_plain_http_url_is_refused(address):
    with pytest.raises(HostRefused):
        pullable_host(address)


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("https://agent.example.org", "https://agent.example.org"),
        ("https://agent.example.org/", "https://agent.example.org"),
        ("http://agent.example.com:8080/base/", "http://agent.example.com:8080/base"),
        ("https://8.8.8.8", "https://8.8.8.8"),
        ("https://[2606:4700::1111]:8443", "https://[2606:4700::1111]:8443"),
        ("https://xn--bcher-kva.example.net", "https://xn--bcher-kva.example.net"),
    ],
)
def test_a_public_host_is_taken(address, kept):
    assert pullable_host(address) == kept


def test_the_operator_lets_named_hosts_through():
    assert pullable_host("http://127.0.0.1:9000/", ["127.0.0.1:9000"]) == "http://127.0.0.1:9000"
    with pytest.raises(HostRefused):
        pullable_host("http://127.0.0.1:9001", ["127.0.0.1:9000"])


@pytest.mark.parametrize(
    "text", ["javascript:alert(1)", "//example.org", "https://a\nb", "http://[", "http://u@h.org"]
)
def test_only_http_and_https_urls_without_credentials_are_urls(text):
    assert not is_http_url(text)
