"""What the values of an engine's options must be: one clear sentence for each that cannot be."""

from __future__ import annotations

from prefixlab.errors import PrefixlabError


def check_whole(option: str, value: object, *, least: int, most: int | None = None, or_none: bool = False) -> None:
    """Refuses what is no whole number of `least` or more, and of `most` or less where there is such.

    Raises:
        PrefixlabError: it is none.
    """
    if value is None and or_none:
        return
    if type(value) is not int or value < least or (most is not None and value > most):
        range_ = f"{least} or more" if most is None else f"from {least} to {most}"
        raise PrefixlabError(f"{option}={value!r} cannot be", f"Give a whole number, {range_}")


def check_number(option: str, value: object, *, or_none: bool = False) -> None:
    """Refuses what is no finite number above 0.

    Raises:
        PrefixlabError: it is none.
    """
    if value is None and or_none:
        return
    if type(value) not in (int, float) or not 0 < value < float("inf"):  # type: ignore[operator]
        raise PrefixlabError(f"{option}={value!r} cannot be", "Give a number above 0")


def check_switch(option: str, value: object) -> None:
    """Refuses what is neither true nor false.

    Raises:
        PrefixlabError: it is not.
    """
    if type(value) is not bool:
        raise PrefixlabError(f"{option}={value!r} cannot be", "Give true or false")


def check_choice(option: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuses what is none of the choices.

    Raises:
        PrefixlabError: it is none of them.
    """
    if value not in choices:
        raise PrefixlabError(f"{option}={value!r} cannot be", f"Give one of {', '.join(choices)}")
