"""What labels tell: their entropy, which falls as they are made coarser."""

from __future__ import annotations

import numpy as np
import pandas as pd

from disclique.records.labels import label_tuples


def count_classes(labels: pd.DataFrame) -> tuple[float, int]:
    """Return how many equally frequent classes would tell as much as the labels (exp of the entropy), and how many are.

    A missing value is a class of its own.

    >>> count_classes(pd.DataFrame({"sex": ["f", "m", "f", "m"]}))
    (2.0, 2)
    """
    counts = np.array(pd.Series(label_tuples(labels), dtype=object).value_counts(), dtype=float)
    shares = counts / counts.sum()
    return round(float(np.exp(-(shares * np.log(shares)).sum())), 12), len(counts)


def share_kept(coarse: pd.DataFrame, fine: pd.DataFrame) -> float:
    """Return the entropy of coarse labels as a share of that of the fine ones; 1 where these tell nothing.

    >>> fine = pd.DataFrame({"age": [1, 2, 3, 4]})
    >>> share_kept(fine // 2, fine), share_kept(pd.DataFrame(index=range(4)), fine)
    (0.75, 0.0)
    """
    most, left = count_classes(fine)[0], count_classes(coarse)[0]
    return 1.0 if most <= 1 else round(float(np.log(left) / np.log(most)), 12)
