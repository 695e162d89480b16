"""The sentences of the page for respondents, one file of TOML for each language."""
