"""What the sources say of ``noise``: published methods, quantities, simulations."""
