"""What the sources say of ``slot``: published methods, quantities, simulations."""
