"""Mistakes in the arguments of a command, told in one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from ltr.errors import UsageError
from ltr.plugins import unforeseen_errors

MISUSE: Any = typer.BadParameter.__base__  # every mistake in the arguments, to Typer; it gives it no public name
NUMBERS = {
    "greater_than_equal": "{} is too small; at least {ge} is needed",
    "int_parsing": "{} is not a whole number",
    "float_parsing": "{} is not a number",
}
OTHERS_OPTIONS = {  # what other programs call ours
    "--json": "--format json",
    "--tsv": "--format tsv",
    "--top-k": "-k",
    "--force": "--overwrite",
    "--output": "-o",
}


class CommandGroup(TyperGroup):
    """Commands without options of their own ahead of a command: to find one absent Typer loads pydantic (50 ms).

    A mistake in the arguments is one line, as any other.
    """

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """That of the command, once its name is known."""
        with in_one_line():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with in_one_line(), unforeseen_errors():
            return super().invoke(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What is left for the command."""
        if args and not args[0].startswith("-"):
            self.params, self.add_help_option = [], False
        return super().parse_args(ctx, args)


@contextmanager
def in_one_line() -> Iterator[None]:
    """What Typer says of the arguments in three lines, raised as ours; help that nobody asked for stays help."""
    try:
        yield
    except MISUSE as error:
        if type(error).show is not MISUSE.show:
            raise
        place = error.ctx.command_path if error.ctx else "ltr"
        message = " ".join(plainly(error).split()).rstrip(".").replace("Value error, ", "")
        is_extra = "unexpected extra argument" in message
        hint = "; a text with spaces stands in quotes, and only one is taken" if is_extra else ""
        raise UsageError(f"{message}{hint}; see {place} -h") from error


def plainly(error: Any) -> str:
    """What Typer says, in our words where it only hands on those of pydantic about a number."""
    message: str = error.format_message()
    name = getattr(error, "option_name", "")
    ours = OTHERS_OPTIONS.get(name)
    if ours and any(ours.split()[0] in option.opts for option in error.ctx.command.params):
        return f"No such option: {name}; here it is {ours}"
    problems: list[Any] = getattr(error.__cause__, "errors", list)()
    if not problems or problems[0]["type"] not in NUMBERS:
        return message
    ours = NUMBERS[problems[0]["type"]].format(f"{problems[0]['input']:.40}", **problems[0].get("ctx", {}))
    several = "; several go into --set, such as --set 'train.l2=[0.1, 0.01]'" if "," in problems[0]["input"] else ""
    return message.replace(error.message, ours + several)
