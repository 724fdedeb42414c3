"""python -m bertexplorer."""

import sys

from bertexplorer.cli import main

sys.exit(main())
