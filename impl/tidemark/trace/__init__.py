"""From an implementation's state to the cells of a trace."""
