"""Java: where it is, how it is called, the modules and classes that it reads."""
