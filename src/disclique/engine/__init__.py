"""Product graphs and maximum cliques.

Here live the product graph of definition 6, the agreement of distances it rests on, every solver (one registry,
``SOLVERS``), quasi-cliques, plain graphs from files, and in ``kernels`` the compiled code. Nothing here may know of
masks, attacks or risk, read microdata or print, and no search leaves anything behind on a graph.
"""

from disclique.engine.solvers import SOLVERS, Solver, is_clique, maximum_clique, maximum_cliques

__all__ = ["SOLVERS", "Solver", "is_clique", "maximum_clique", "maximum_cliques"]
