"""What binds our own implementations to the machinery: one module per protocol, named in `spec/protocols.toml`.

The machinery imports nothing from here by name, and the implementations know nothing of the machinery.
"""
