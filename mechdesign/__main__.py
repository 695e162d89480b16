"""``python -m mechdesign``."""

from mechdesign.cli import run

if __name__ == "__main__":
    run()
