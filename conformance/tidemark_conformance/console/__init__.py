"""What a person at a terminal sees while the work goes on."""
