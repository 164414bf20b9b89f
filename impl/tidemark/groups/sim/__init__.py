"""What the simulators of all groups share."""
