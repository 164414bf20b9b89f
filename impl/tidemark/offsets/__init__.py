"""The committed offsets of a group, plain and transactional."""
