"""The problem ``survey-limit``: the least error of tables that any epsilon-private mechanism can have."""
