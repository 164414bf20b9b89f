"""The search by simulation: swarm worlds, guided by what their runs reach."""
