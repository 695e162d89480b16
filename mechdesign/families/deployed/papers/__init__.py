"""What the public sources say of systems that run, and what the audit finds of it."""
