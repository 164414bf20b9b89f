"""The controller: one metadata log, and the state that is its replay."""
