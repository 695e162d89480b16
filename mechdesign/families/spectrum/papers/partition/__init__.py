"""What the sources say of ``partition``: published methods, quantities, simulations."""
