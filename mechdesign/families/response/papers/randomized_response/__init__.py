"""What the sources say of ``randomized-response``: published methods, quantities, simulations."""
