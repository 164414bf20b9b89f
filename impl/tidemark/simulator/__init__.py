"""What every simulation shares: chance, running, scripts."""
