"""The attack that looks up equal distances: what is published exactly says which two records it lies between.

``lookup`` finds the published distances that also occur in the known file and how many would by chance, ``belief``
weighs the pairs of records that these coincidences speak for, and ``follow`` places, by shortest paths, the people who
have no published distance in common with anybody.
"""

from disclique.attacks.equal.attack import EqualAttack

__all__ = ["EqualAttack"]
