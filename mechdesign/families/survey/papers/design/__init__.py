"""What there is to say of ``survey-design`` next to its solution: expected errors, and other ways to ask."""
