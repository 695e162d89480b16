"""What the sources say of ``covering-design``: published methods, quantities, simulations."""
