"""Ways to collect several attributes that were published, next to the limit for every private mechanism."""
