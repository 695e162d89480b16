"""What the sources say of ``privacy-contract``: published methods, quantities, simulations."""
