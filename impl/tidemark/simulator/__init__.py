"""Code for every simulation: chance, running, scripts."""
