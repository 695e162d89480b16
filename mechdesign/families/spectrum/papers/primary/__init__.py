"""What the sources say of ``primary``: published methods, quantities, simulations."""
