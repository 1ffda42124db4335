"""The benchmark: its attacks, its table, and that a wrong clique is noticed."""

import numpy as np
import pandas as pd
import pytest

from disclique.engine.product import product_graph
from disclique.errors import DiscliqueError
from engine import check, run
from instances import INSTANCES, instance


@pytest.mark.long
def test_one_attack_gives_table_and_picture(tmp_path):
    pytest.importorskip("igraph")
    said = []
    first = next(iter(INSTANCES))
    table = run(
        tmp_path / "new" / "folder",
        instances={first: INSTANCES[first]},
        repeats=1,
        peers=("igraph", "not installed"),
        growth=(60,),
        tell=said.append,
    )
    own = table[table["solver"].str.startswith("disclique")]
    assert (own["size"][:3] == 13).all()
    assert own["proven"].all()
    assert (table["peak"] > 10).all()
    written = {path.name for path in (tmp_path / "new" / "folder").iterdir()}
    assert written == {"bench.csv", "bench.md", "bench.png"}
    assert len(pd.read_csv(tmp_path / "new" / "folder" / "bench.csv")) == len(table) == 5
    text = (tmp_path / "new" / "folder" / "bench.md").read_text(encoding="utf-8")
    assert "| igraph |" in text
    assert "60 records" in text
    assert len(said) == 2


def test_attacks_are_the_same_everywhere():
    """Sums that any change in the draws, or in their order, would move."""
    attack = instance(0.005, 0.5)
    assert attack.target.values.sum() == pytest.approx(82416945.18, rel=1e-6)
    assert attack.agreement.lo == pytest.approx(-0.46245022, abs=1e-6)
    assert (attack.candidates.target_class[:50] == attack.candidates.known_class[:50]).all()


def test_wrong_answers_are_noticed():
    attack = instance(0.005, 0.5, records=60, common=6)
    graph = product_graph(attack.target, attack.known, candidates=attack.candidates, agreement=attack.agreement)
    edge = [int(np.flatnonzero(np.diff(graph.later.offsets))[0])]
    edge.append(int(graph.later.neighbours[graph.later.offsets[edge[0]]]))
    row = {"runs": 1, "members": edge, "size": 2, "proven": True}
    check(graph, row, 2, "here")
    with pytest.raises(DiscliqueError, match="2 members, but a maximum clique has 3"):
        check(graph, row, 3, "here")
    with pytest.raises(DiscliqueError, match="no clique"):
        check(graph, row | {"members": [1, 1]}, 2, "here")
