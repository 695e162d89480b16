"""What the sources say of ``sum``: published methods, quantities, simulations."""
