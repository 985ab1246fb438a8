import pytest

from hansa.rooms.catalogue.errors import HostRefused
from hansa.rooms.catalogue.hosts import is_http_url, pullable_host

LOOPBACK_IN_EVERY_SPELLING = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f.1",
    "0x7f000001",
    "0177.0.0.1",
    "127.0.0.1.",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
    "①②⑦.0.0.1",
    "127。0。0。1",
    "localhost",
    "LOCALHOST",
    "localhost.",
]
PRIVATE = [
    "10.0.0.1",
    "172.16.3.4",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "[::ffff:100.64.0.1]",
    "0.0.0.0",
    "0",
    "255.255.255.255",
    "224.0.0.1",
    "198.51.100.7",
    "[fe80::1]",
    "[fe80::1%25eth0]",
    "[fec0::1]",
    "[fd00::1]",
    "[2001:db8::1]",
    "[ff02::1]",
    "[::]",
    "intranet",
    "printer.local",
    "a.test",
    "a.invalid",
    "a.example",
    "a.localhost",
    "A.LOCAL.",
    "metadata.google.internal",
    "1.2.3.4.5",
    "256.256.256.256",
    "0x.1",
    "a..example.org",
    "-a.example.org",
]


@pytest.mark.parametrize("name", LOOPBACK_IN_EVERY_SPELLING + PRIVATE)
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
