"""What the sources say of ``horizon``: published methods, quantities, simulations."""
