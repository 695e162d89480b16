"""What is measured of ``event-counts``."""
