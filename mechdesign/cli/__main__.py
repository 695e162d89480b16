"""``python -m mechdesign.cli``."""

from mechdesign.cli import run

if __name__ == "__main__":
    run()
