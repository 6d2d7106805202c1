"""The direction of a test's data: a parameter of its run where they do not go from the tool's host to its server alone.

Values of several parameters are joined as their names are, and the direction is the last of them.
"""

from typing import Final

from ccreport.archive.parameters import SEPARATOR

PARAMETER: Final = "direction"
FORWARD, REVERSE, BOTH = "forward", "reverse", "both"


def read_direction(parameter_name: str | None, parameter_value: str | None) -> str:
    """Return the direction that the parameters of a run tell, forward where they tell none."""
    if parameter_name is None or parameter_name.split(SEPARATOR)[-1] != PARAMETER:
        return FORWARD
    value = (parameter_value or "").split(SEPARATOR)[-1]
    return value if value in (REVERSE, BOTH) else FORWARD
