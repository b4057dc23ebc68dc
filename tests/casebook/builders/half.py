"""A builder of kernel cases that lacks their data."""

PREDICATES: dict[str, object] = {}


def program(values: object) -> None: ...
