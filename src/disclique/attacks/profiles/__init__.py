"""The attack on two matrices of distances that need not be a map.

``sides`` brings both files to one scale, ``features`` tells records apart without a match, ``align`` turns the two
clouds onto each other, ``refine`` grows the right pairs, ``space`` and ``meaning`` say what a pair is worth, ``weigh``
makes it a probability, ``search`` tries starts, and ``attack`` is the whole. Scores are held as ``evidence``.
"""

from disclique.attacks.profiles.attack import ProfilesAttack

__all__ = ["ProfilesAttack"]
