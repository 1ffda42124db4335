"""Which files of a release are published: a value that they carry, not a word in their name."""

from pathlib import Path

import disclique as dq
from disclique.releases import Use, write_release


def test_what_is_published_and_what_is_kept_is_a_value_of_each_file(tmp_path: Path) -> None:
    """Exactly what only its owner can read is kept, whatever words the files are called by."""
    made = dq.release(dq.cities(), "gaussian:sigma=5km", seed=1)
    out = tmp_path / "keep, do not publish.csv"
    files = write_release(made, out, key=tmp_path / "publish this.csv")
    assert {file.path for file in files} == set(tmp_path.iterdir())
    kept = {file.path for file in files if file.use is Use.KEEP}
    assert kept == {path for path in tmp_path.iterdir() if path.stat().st_mode & 0o077 == 0}
    assert {file.name: file.use for file in files} == {
        "table": Use.PUBLISH,
        "distances": Use.PUBLISH,
        "note": Use.PUBLISH,
        "words": Use.PUBLISH,
        "recipe": Use.KEEP,
        "key": Use.KEEP,
    }


def test_what_is_published_says_nothing_of_seed_and_ids(tmp_path: Path) -> None:
    """Of the published files none holds the seed or an id; each of those that are kept does."""
    made = dq.release(dq.cities(), "gaussian:sigma=5km")
    for file in write_release(made, tmp_path / "r.csv", key=tmp_path / "k.csv"):
        text = file.path.read_text()
        secret = str(made.seed) in text or "file_row" in text
        assert secret is (file.use is Use.KEEP)


def test_a_release_is_saved_by_what_its_files_are(tmp_path: Path) -> None:
    made = dq.release(dq.cities(), "gaussian:sigma=5km", seed=1)
    assert list(made.save(tmp_path / "r.csv")) == ["table", "distances", "note", "words", "recipe"]
