"""Releases: a file masked for publication, in memory (``release``, ``mask_microdata``) or as files with their recipe.

Whether a release is safe is not decided here: that is asked of ``audits``.
"""

from disclique.releases.release import Release, mask_microdata, release, write_release

__all__ = ["Release", "mask_microdata", "release", "write_release"]
