"""Whose program is at the other end of a connection.

A key can be seen by others: browsers are started with the address among their arguments, which every user of a Linux
machine can list, and a browser sends its cookies to every port of a host. Linux also says which user a connection of
this machine belongs to, so that a key is of no use to another one.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

TABLE = Path("/proc/net/tcp")
ADMINISTRATOR = 0  # who could read everything anyway, and whose programs pass connections on


def is_stranger(client: tuple[str, int] | None, port: int, table: Path = TABLE) -> bool:
    """Say whether a connection to a port of this machine is known to belong to another user."""
    if client is None or not hasattr(os, "getuid"):
        return False
    owner = find_owner(client, port, table)
    return owner is not None and owner not in (os.getuid(), ADMINISTRATOR)


def find_owner(client: tuple[str, int], port: int, table: Path = TABLE) -> int | None:
    """Return the user of the socket from which a connection comes; None where the system does not tell."""
    try:
        ours, theirs = _write_end(client[0], client[1]), _write_end("127.0.0.1", port)
        for line in table.read_text(encoding="ascii").splitlines()[1:]:
            words = line.split()
            if words[1:3] == [ours, theirs]:
                return int(words[7])
    except (OSError, ValueError, IndexError):
        return None
    return None


def _write_end(host: str, port: int) -> str:
    """Write an address as the system's table does: its bytes as one number of this machine, and the port."""
    number = int.from_bytes(socket.inet_aton(host), sys.byteorder)
    return f"{number:08X}:{port:04X}"
