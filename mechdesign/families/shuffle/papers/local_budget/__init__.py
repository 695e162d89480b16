"""What the sources say of ``local-budget``: published methods, quantities, simulations."""
