"""How long the app takes to its first page: from the command to the page's load event, in a real browser.

    python benchmarks/app.py [--times N]

Prints processor time of the server (what it costs on any machine) and wall time (what a person waits for on this one,
beside whatever else it does); the browser is started before.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from app_server import serving
from browser import Browser, missing


def cpu_of(process: int) -> float:
    """Processor time of a process so far, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5)
    times = parser.parse_args().times
    if why := missing():
        sys.exit(why)
    chrome = Browser()
    print("seconds of the processor | of the clock, each until the address is said and until the page is there")
    for _ in range(times):
        with tempfile.TemporaryDirectory() as name:
            begun = time.perf_counter()
            with serving(Path(name), temporary=Path(name) / "temporary") as server:
                told = time.perf_counter() - begun, cpu_of(server.process.pid)
                window = chrome.window(server.url)
                window.page.goto(server.address)
                window.page.wait_for_url(f"{server.url}/", wait_until="load")
                shown = time.perf_counter() - begun, cpu_of(server.process.pid)
                window.close()
                print(f"{told[1]:7.2f}{shown[1]:7.2f} | {told[0]:7.2f}{shown[0]:7.2f}", flush=True)
    chrome.close()


if __name__ == "__main__":
    main()
