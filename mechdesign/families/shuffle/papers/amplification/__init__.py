"""What the sources say of ``amplification``: published methods, quantities, simulations."""
