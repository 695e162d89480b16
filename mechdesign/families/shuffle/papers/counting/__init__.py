"""What the sources say of ``counting``: published methods, quantities, simulations."""
