"""The engine on whole attacks of the paper's size, and on classical clique benchmarks where they are at hand."""

import re
from pathlib import Path

import pytest

from disclique.engine import is_clique, maximum_clique, maximum_cliques
from disclique.engine.product import product_graph
from disclique.engine.solvers import read_graph
from instances import INSTANCES, instance

COUNTS = {(0.005, 0.5): 2, (0.05, 0.1): 1, (0.01, 0.9): 4, (0.025, 0.5): 12, (0.05, 0.5): 69}
DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.mark.parametrize(("sigma", "alpha"), INSTANCES)
def test_instances_of_the_papers_size(sigma, alpha):
    attack = instance(sigma, alpha)
    graph = product_graph(attack.target, attack.known, candidates=attack.candidates, agreement=attack.agreement)
    one, two = (maximum_clique(graph, threads=threads) for threads in (1, 2))
    assert one == two
    assert one.proven
    assert one.size == INSTANCES[sigma, alpha]
    assert is_clique(graph, one.members)
    everything = maximum_cliques(graph, one, limit=100)
    if (sigma, alpha) in COUNTS:
        assert everything.complete
        assert everything.count == COUNTS[sigma, alpha]
        assert everything.cliques[0] == one.members
    else:
        assert not everything.complete


def clique_numbers():
    """Names and clique numbers from the table beside the graphs; none where there is no such folder."""
    readme = DATA / "README.md"
    if not readme.exists():
        return [pytest.param("", 0, marks=pytest.mark.skip(reason="no DIMACS graphs at hand"))]
    cells = re.findall(r"([\w.-]+) \| (\d+)", readme.read_text(encoding="utf-8"))
    return [(name, int(size)) for name, size in cells if (DATA / "dimacs" / f"{name}.clq").exists()]


@pytest.mark.parametrize(("name", "size"), clique_numbers())
def test_dimacs_graphs(name, size):
    graph = read_graph(DATA / "dimacs" / f"{name}.clq")
    clique = maximum_clique(graph)
    assert clique.proven
    assert clique.size == size
    assert is_clique(graph, clique.members)
