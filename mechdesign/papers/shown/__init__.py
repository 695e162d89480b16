"""What is shown of the models and their sources: in the terminal, and on a page of HTML."""
