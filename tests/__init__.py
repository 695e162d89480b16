"""The tests; they mirror the package, and ``support`` holds what several of them use."""
