"""Code for the simulators of all groups."""
