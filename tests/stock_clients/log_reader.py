"""A reader of tiled logs: `golang.org/x/mod/sumdb` as the Go distribution ships it, unmodified, built from its wheel."""

import shutil
from hashlib import sha256
from pathlib import Path

from tests.stock_clients.tools import HERE, installed

SOURCE = HERE / "read_log.go"
MODULE, PACKAGES = "golang.org/x/mod", ("sumdb/note", "sumdb/tlog")
# Nothing is fetched: both packages are part of the distribution, which the lock file pins.
OFFLINE = {
    "GOPROXY": "off",
    "GOTOOLCHAIN": "local",
    "GOFLAGS": "-mod=vendor",
    "CGO_ENABLED": "0",
    "GOWORK": "off",
    # The collector of the compiler would take a tenth of its time.
    "GOGC": "400",
}
# Go compiles its library for the first program. It is run for a second, so that optimizing all of it does not pay.
NOT_OPTIMIZED = "-gcflags=all=-N -l"


def built() -> Path:
    """The program, built if it is not yet, or not from this source."""
    tools = installed()
    workshop = tools.home / "read_log"
    program, mark = workshop / "read_log", workshop / "built"
    wanted = sha256(SOURCE.read_bytes() + Path(__file__).read_bytes()).hexdigest()
    if mark.exists() and mark.read_text() == wanted:
        return program
    shutil.rmtree(workshop, ignore_errors=True)
    (shipped,) = tools.home.glob("python/lib/python*/site-packages/go/src/cmd/vendor")
    lines = (shipped / "modules.txt").read_text().splitlines()
    version = next(line.split()[2] for line in lines if line.startswith(f"# {MODULE} "))
    for package in PACKAGES:
        shutil.copytree(shipped / MODULE / package, workshop / "vendor" / MODULE / package)
    listed = [f"# {MODULE} {version}", "## explicit; go 1.25.0", *(f"{MODULE}/{name}" for name in PACKAGES)]
    (workshop / "vendor" / "modules.txt").write_text("\n".join(listed) + "\n")
    (workshop / "go.mod").write_text(f"module read_log\n\ngo 1.25\n\nrequire {MODULE} {version}\n")
    shutil.copy(SOURCE, workshop / "main.go")
    go = [tools.python, tools.python.with_name("go")]
    cache = {"GOCACHE": str(tools.home / "go-cache"), "GOPATH": str(tools.home / "go-path")}
    done = tools.run([*go, "build", "-C", workshop, NOT_OPTIMIZED, "-o", program, "."], **OFFLINE, **cache)
    assert done.returncode == 0, done.stderr
    mark.write_text(wanted)
    return program
