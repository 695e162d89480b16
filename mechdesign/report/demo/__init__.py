"""The demonstration: a survey, an auction and six design problems, on data that ship with the package."""
