"""What the sources say of ``interval``: published methods, quantities, simulations."""
