"""Print the lowest versions that pyproject.toml allows, of what users install and of what the tests need, as pins.

python .ci/lowest.py > constraints-lowest.txt
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXTRAS = ("app", "bench", "dask", "geo", "stat")
TOOLS = ("hypothesis", "httpx", "jsonschema", "pytest", "pytest-xdist")  # of dev; linters and generators see no user


def main() -> None:
    """Read the lower bounds and print a pin for each."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    lines = [*project["dependencies"], *(line for extra in EXTRAS for line in optional[extra])]
    lines += [line for line in optional["dev"] if re.split(r"[^\w-]", line)[0] in TOOLS]
    print("# The lowest versions that pyproject.toml allows, made by .ci/lowest.py; `make lowest` tests with them.")
    print("\n".join(sorted((line.replace(">=", "==") for line in lines), key=str.lower)))


if __name__ == "__main__":
    main()
