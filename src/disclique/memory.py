"""How much memory the machine has, how much of it disclique takes unless told, and how people write such amounts.

What limits a process is the smaller of the machine's memory and that of the control groups it runs in (containers,
batch systems): whoever takes more is killed there, however large the machine is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from disclique.arguments import show
from disclique.errors import InputError
from disclique.units import parse_quantity

SHARE = 0.5  # of the memory that is there, taken unless somebody says otherwise
BYTES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
SHORT = {unit[0]: size for unit, size in BYTES.items() if size > 1}  # 4G is taken for 4GB
BINARY = {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
UNKNOWN = 4 * 10**9  # taken for the machine's memory where the system does not say it
GROUPS = Path("/sys/fs/cgroup")
OWN_GROUP = Path("/proc/self/cgroup")


def available_memory() -> int:
    """Return the bytes of memory that this process may use: the machine's, or less where a control group says so."""
    return min([_machine(), *_group_limits()])


def default_memory() -> int:
    """Return the bytes that work takes at the most where nobody said how much: half of what is there."""
    return max(1, int(available_memory() * SHARE))


def parse_memory(text: object) -> int:
    """Return the bytes that ``4GB``, ``500 MB``, ``2GiB`` or ``50%`` (of what is there) mean; a whole number is bytes.

    >>> parse_memory("4GB"), parse_memory("1.5 MiB"), parse_memory(1000)
    (4000000000, 1572864, 1000)
    """
    found = float(text) if isinstance(text, int) and not isinstance(text, bool) else _said(text)
    if not 1 <= found < 2**62:
        raise InputError("memory_out_of_range", text=show(text))
    return int(found)


def say_memory(amount: float) -> str:
    """Return an amount of memory as people read it.

    >>> say_memory(4_000_000_000), say_memory(655_360), say_memory(12)
    ('4.0 GB', '655 kB', '12 bytes')
    """
    for unit, size, digits in (("TB", 10**12, 1), ("GB", 10**9, 1), ("MB", 10**6, 0), ("kB", 10**3, 0)):
        if amount >= size:
            return f"{amount / size:,.{digits}f} {unit}"
    return f"{amount:.0f} bytes"


def _said(text: object) -> float:
    """Return the bytes that a text means."""
    units = BYTES | SHORT | BINARY
    try:
        if not isinstance(text, str):
            raise InputError("not_a_text")
        found = parse_quantity(text, units=(*units, "%"))
    except InputError:
        raise InputError("memory_not_understood", text=show(text)) from None
    if found.unit != "%":
        return found.value * units[found.unit]
    if not 0 < found.value <= 100:
        raise InputError("memory_share_out_of_range", text=show(text))
    return found.value / 100 * available_memory()


def _machine() -> int:
    """Return the bytes of memory of the machine."""
    if sys.platform == "win32":
        return _windows()
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return UNKNOWN


def _windows() -> int:
    """Return the bytes of memory as Windows tells them: the second entry of a record of 64 bytes."""
    import ctypes

    record = (ctypes.c_uint64 * 8)()
    record[0] = ctypes.sizeof(record)
    told = getattr(ctypes, "windll").kernel32.GlobalMemoryStatusEx(ctypes.byref(record))  # noqa: B009
    return int(record[1]) if told else UNKNOWN


def _group_limits() -> Iterator[int]:
    """Yield the limits of the control groups that hold this process, of either version of Linux's interface."""
    for folder in _groups():
        for name in ("memory.max", "memory.limit_in_bytes"):
            try:
                said = (folder / name).read_text().strip()
            except OSError:
                continue
            if said.isdigit() and int(said) > 0:  # "max" where there is none
                yield int(said)


def _groups() -> Iterator[Path]:
    """Yield the folders of the control groups of this process, from the outermost in."""
    yield from (GROUPS, GROUPS / "memory")
    try:
        lines = OWN_GROUP.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, path = [*line.split(":", 2), "", ""][:3]
        if kinds not in ("", "memory"):
            continue
        folder = GROUPS / kinds
        for part in Path(path.lstrip("/")).parts:
            if part == "..":  # a group outside of what this container sees
                break
            folder /= part
            yield folder
