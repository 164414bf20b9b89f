"""One module per subcommand of `tidemark`, each with `add_arguments(parser)` and `run(args) -> exit code`."""
