"""Product graphs and maximum cliques: kernels, the graph of definition 6, and one door for every solver."""

from disclique.engine.solvers import SOLVERS, is_clique, maximum_clique, maximum_cliques

__all__ = ["SOLVERS", "is_clique", "maximum_clique", "maximum_cliques"]
