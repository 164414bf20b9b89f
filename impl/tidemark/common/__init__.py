"""What every part of the implementation shares: errors, names, values, rules."""
