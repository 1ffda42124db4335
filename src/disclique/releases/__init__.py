"""Releases: a file masked for publication, in memory (``release``, ``mask``) or as files with their recipe.

Which of the files are published and which are kept is said by their ``Use``. Whether a release is safe is not decided
here: that is asked of ``audits``.
"""

from disclique.releases.files import TRIAL, ReleaseFile, Use, read_key, write_release
from disclique.releases.publish import Release, mask, release

__all__ = ["TRIAL", "Release", "ReleaseFile", "Use", "mask", "read_key", "release", "write_release"]
