"""``python -m cts``: the command ``cts``."""

import sys

from cts.cli import main

sys.exit(main())
