"""`python -m ingot` is the `ingot` command."""

import sys

from ingot.cli import main

sys.exit(main())
