"""What there is to say of ``survey-design`` beside its solution: expected errors, and other ways to ask."""
