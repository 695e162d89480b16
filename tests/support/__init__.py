"""Independent computations and generators of instances that several tests use."""
