"""What the sources say of ``secondary``: published methods, quantities, simulations."""
