"""The one audit that runs: a process of its own, so that it can be ended and goes on after anything."""

from __future__ import annotations

from disclique.app.works import Work, Works


class Runner:
    """Runs one audit at a time; the others wait until somebody starts them."""

    def __init__(self, works: Works) -> None:
        self.works = works

    @property
    def busy(self) -> bool:
        """Whether an audit runs."""
        return False

    def state(self, work: Work) -> str:
        """Say how far a piece of work is: running if it runs, else by what lies in its folder."""
        return self.works.state(work)

    def close(self) -> None:
        """End what runs; its journal keeps what was done."""
