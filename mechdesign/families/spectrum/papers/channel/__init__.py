"""What the sources say of ``channel``: published methods, quantities, simulations."""
