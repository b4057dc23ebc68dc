"""A builder of kernel cases that declares no parameters."""

PREDICATES: dict[str, object] = {}


def build(parameters: object) -> None: ...
