"""What the sources say of ``marginal-views``: published methods, quantities, simulations."""
