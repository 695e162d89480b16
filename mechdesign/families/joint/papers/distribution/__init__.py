"""What the sources say of ``distribution``: published methods, quantities, simulations."""
