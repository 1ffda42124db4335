"""How fast the engine is, beside other clique solvers, on attacks of the paper's size."""

from disclique.bench.instances import INSTANCES, Case, case
from disclique.bench.timing import PEERS, run

__all__ = ["INSTANCES", "PEERS", "Case", "case", "run"]
