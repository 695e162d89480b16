"""What the sources say of ``cloak``: published methods, quantities, simulations."""
