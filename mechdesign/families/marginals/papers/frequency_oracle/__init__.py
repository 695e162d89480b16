"""What the sources say of ``frequency-oracle``: published methods, quantities, simulations."""
