"""How fast the engine is, beside other clique solvers, on attacks of the paper's size.

Here live the attacks that are timed, the processes that time one solver each, and the table and picture of a run. Other
parts of the package may not depend on this one, and no result of an attack comes from here.
"""

from disclique.bench.instances import INSTANCES, Instance, instance
from disclique.bench.timing import PEERS, run

__all__ = ["INSTANCES", "PEERS", "Instance", "instance", "run"]
