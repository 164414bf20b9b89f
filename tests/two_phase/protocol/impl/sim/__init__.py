"""Two-phase commit under simulation."""
