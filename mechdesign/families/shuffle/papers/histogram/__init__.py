"""What the sources say of ``histogram``: published methods, quantities, simulations."""
