"""Compare all answers with the golden files, and accept changes on purpose.

    python -m tests.golden [NAME …]             what differs, by file; NAME: views/fill-mask, lessons, …
    python -m tests.golden --accept NAME …      write the files anew; `--accept all` writes all of them

A change is accepted by name, and the commit says why."""

import argparse
import sys
import time
from collections.abc import Sequence

from tests.golden.answers import documents, serve
from tests.golden.compare import differences
from tests.golden.files import read, write

SHOWN = 20  # differences of a file


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 1 if something differs and is not accepted."""
    parser = argparse.ArgumentParser("python -m tests.golden", description=__doc__)
    parser.add_argument("names", nargs="*", help="files, or the beginnings of their names; default: all")
    parser.add_argument("--accept", action="store_true", help="write the files anew")
    options = parser.parse_args(arguments)
    if options.accept and not options.names:
        parser.error("name what you accept, or all")
    names = () if "all" in options.names else tuple(options.names)
    differing = 0
    with serve() as client:
        asked = documents(client)
        if unknown := [name for name in names if not any(known.startswith(name) for known in asked)]:
            parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(asked)}")
        for name, ask in asked.items():
            if names and not name.startswith(names):
                continue
            began = time.monotonic()
            found = ask()
            changes = list(differences(read(name), found))
            differing += bool(changes)
            print(f"{name}: {len(changes) or 'no'} differences ({time.monotonic() - began:.1f} s)")
            for line in changes[:SHOWN]:
                print(f"  {line}")
            if changes and options.accept:
                write(name, found)
    return int(bool(differing) and not options.accept)


if __name__ == "__main__":
    sys.exit(main())
