"""The implementation as it is found, compiled and hashed."""
