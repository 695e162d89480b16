"""Weekly reports from permanent ones: laws, cells, the mechanism, what a device keeps, and estimates."""
