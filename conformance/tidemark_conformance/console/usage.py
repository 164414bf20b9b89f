"""The parser of all commands' arguments: an error is one sentence with the fault, its place and the remedy."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from tidemark.common.naming import instead, underscored


class Parser(argparse.ArgumentParser):
    """As its base; parsers of subcommands are of this class, too."""

    def error(self, message: str) -> NoReturn:
        """Ends the process with exit code 2, after one line in place of the usage."""
        self.exit(2, f"{self.prog}: {message}; `{self.prog} --help` lists the arguments\n")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """As its base; a text that is no number is refused with the kind of number that it should be."""
        kinds = {int: "a whole number", float: "a number"}
        if action.type not in kinds:
            return super()._get_value(action, arg_string)
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError as problem:
            message = f"{arg_string} cannot be; give {kinds[action.type]}"
            raise argparse.ArgumentError(action, message) from problem

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuses a value that is none of an argument's choices, with the choices that come close."""
        if action.choices is not None and value not in action.choices:
            names = [str(one) for one in action.choices]
            hint = instead(str(value), names, f"choose from {', '.join(names)}", underscored)
            raise argparse.ArgumentError(action, f"there is no {value}: {hint}")
