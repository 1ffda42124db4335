"""The attack on releases that bend the map: projections, embeddings, any smooth image of it.

``clouds`` lays the records of both files into a space each, ``fit`` finds the map from the known cloud to the target's
together with who is who, and ``search`` chooses where the fit starts and how far the map may bend.
"""

from disclique.attacks.bend.attack import BendAttack

__all__ = ["BendAttack"]
