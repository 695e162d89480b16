"""The demonstration: six design problems, solved, built, and run on data that ship with the package."""
