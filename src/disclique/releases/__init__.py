"""Releases: a file masked for publication, in memory (``release``, ``mask``) or as files with their recipe.

Whether a release is safe is not decided here: that is asked of ``audits``.
"""

from disclique.releases.key import read_key
from disclique.releases.publish import TRIAL, Release, mask, release, write_release

__all__ = ["TRIAL", "Release", "mask", "read_key", "release", "write_release"]
