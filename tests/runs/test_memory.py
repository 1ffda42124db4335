"""Amounts of memory: read as people write them, and never more than what a process may take."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disclique import memory
from disclique.errors import InputError
from disclique.memory import available_memory, default_memory, parse_memory, say_memory


@pytest.mark.parametrize(
    ("text", "amount"),
    [("4GB", 4e9), ("500 MB", 5e8), ("4g", 4e9), ("1.5gib", 1.5 * 2**30), ("2 TB", 2e12), ("64kB", 64_000), (7, 7)],
)
def test_amounts_are_read_as_people_write_them(text, amount):
    assert parse_memory(text) == amount


@pytest.mark.parametrize(
    "text", ["4", "", "much", "0GB", "-1GB", "0%", "120%", "nan GB", "1e30GB", "4 G B 2", "4km", True, 4.5, None, 0, -3]
)
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(InputError, match="memory"):
        parse_memory(text)


def test_shares_are_of_what_is_there():
    assert parse_memory("50%") == default_memory() == available_memory() // 2
    assert parse_memory("100%") == available_memory()


@given(st.integers(1, 10**13))
def test_what_is_said_is_about_what_it_was(amount):
    said = say_memory(amount)
    if not said.endswith("bytes"):
        assert parse_memory(said.replace(",", "")) == pytest.approx(amount, rel=0.5)


def test_the_machine_has_no_more_than_its_pages():
    assert 0 < available_memory() <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    ("line", "file", "said", "counts"),
    [
        ("0::/", "memory.max", 3_000_000, True),  # a container sees its own group as the root
        ("0::/slurm/job_7", "slurm/memory.max", 2_000_000, True),  # the limit of a group above counts as well
        ("4:memory:/job", "memory/job/memory.limit_in_bytes", 1_000_000, True),
        ("4:cpu:/job", "cpu/job/memory.max", 1_000_000, False),  # not about memory
        ("0::/../elsewhere", "elsewhere/memory.max", 1_000_000, False),  # not this group
        ("0::/", "memory.max", "max", False),
    ],
)
def test_the_limit_of_a_container_or_a_batch_job_counts(tmp_path, monkeypatch, line, file, said, counts):
    monkeypatch.setattr(memory, "GROUPS", tmp_path)
    monkeypatch.setattr(memory, "OWN_GROUP", tmp_path / "own")
    (tmp_path / "own").write_text(f"{line}\n")
    machine = available_memory()
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(f"{said}\n")
    assert available_memory() == (said if counts else machine)
