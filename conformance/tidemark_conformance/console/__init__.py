"""Progress and messages at a terminal during the work."""
