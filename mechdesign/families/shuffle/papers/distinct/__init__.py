"""What the sources say of ``distinct``: published methods, quantities, simulations."""
