"""What the sources say of ``collection``: published methods, quantities, simulations."""
