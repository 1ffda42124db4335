"""Maximum cliques: one door for every solver, each answer with a bound that says how sure it is."""

from disclique.clique.door import SOLVERS, is_clique, maximum_clique, maximum_cliques

__all__ = ["SOLVERS", "is_clique", "maximum_clique", "maximum_cliques"]
