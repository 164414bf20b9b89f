"""The audit: every step of every trace against the checks of a specification."""
