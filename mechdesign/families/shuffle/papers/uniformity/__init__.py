"""What the sources say of ``uniformity``: published methods, quantities, simulations."""
