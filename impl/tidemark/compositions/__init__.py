"""Simulators of protocols over really replicated logs."""
