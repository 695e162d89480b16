"""What the sources say of ``privacy-contract-continuous``: published methods, quantities, simulations."""
