"""What the sources say of ``range``: published methods, quantities, simulations."""
