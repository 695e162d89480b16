"""What the sources state about workloads of linear queries."""
