"""Ways to collect several attributes that were published, beside the limit for every private mechanism."""
