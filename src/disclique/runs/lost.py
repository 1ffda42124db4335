"""The error of a run whose workers are gone."""

from disclique.errors import DiscliqueError


class WorkersLost(DiscliqueError):
    """Workers, or the way to them, are gone: nothing is wrong with the work itself, and it may be taken up again."""
