"""``python -m mechdesign``."""

import sys

from mechdesign.cli import main

sys.exit(main())
