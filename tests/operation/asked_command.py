"""A command that a shell runs as a fork of the process behind the socket named first: it costs 20 ms, not a second.

It runs without site-packages and imports next to nothing. It passes on its arguments, environment, directory, umask
and standard streams, and ends with the exit code of the command.
"""

import json
import os
import signal
import socket
import sys

path, *arguments = sys.argv[1:]
directory = os.getcwd()  # noqa: PTH109 (pathlib would be half of what this costs)
request = {
    "arguments": arguments,
    "environment": dict(os.environ),
    "directory": directory,
    "umask": os.umask(0),
}
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.connect(path)
status, status_of_server = socket.socketpair()
socket.send_fds(server, [json.dumps(request).encode()], [0, 1, 2, status_of_server.fileno()])
status_of_server.close()
answers = status.makefile()
pid = int(answers.readline())
signal.signal(signal.SIGTERM, lambda number, _: os.kill(pid, number))
code = int(answers.readline())
sys.exit(code if code >= 0 else 128 - code)
