"""What is compared: two sides and their campaign, from a file of `comparisons` or from the command line."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from ccreport.collect.declare.sysctls import EXAMPLES, find_example
from ccreport.core.algorithms import KNOWN
from ccreport.core.declarations import SCHEMAS, load_yaml
from ccreport.core.declared_files import DeclarationError, blame, fill_defaults, load_declared
from ccreport.core.errors import InputError
from ccreport.core.schema_problems import HERE, Place, guess_path
from ccreport.core.text import complete_name

SYSCTL: Final = "net."
ALGORITHM: Final = re.compile(r"[a-z0-9_]+")
SETTING: Final = re.compile(r"[a-z0-9_]+(\.[\w\[\]]+)+")
# A side of the command line that changes nothing.
UNCHANGED: Final = "default"


@dataclass(frozen=True)
class Side:
    """One side: what it sets. `kernel` null takes the campaign's, `algorithm` is what `candidate` stands for."""

    name: str = UNCHANGED
    kernel: str | None = None
    algorithm: str | None = None
    sysctls: Mapping[str, Any] = field(default_factory=dict)
    module_parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Criterion:
    """A criterion of a scorecard: `measures` are high or low where that is good, by the measure's name."""

    name: str
    section: str
    question: str
    conditions: str
    measures: Mapping[str, str]

    def covers(self, condition: str, measure: str) -> bool:
        """Tell whether a measure of a condition is a part of this criterion."""
        return measure in self.measures and fnmatchcase(condition, self.conditions)


@dataclass(frozen=True)
class Comparison:
    """A whole comparison, with every setting of its schema; `name` is the file's, `campaign` a path that exists.

    `path` is the file, where it comes from one.
    """

    name: str
    title: str
    campaign: Path
    a: Side
    b: Side
    blocks_count: int
    equal_within_pct: float
    equal_within_points: float
    seed_offset: int = 0
    expected: Sequence[Mapping[str, str]] = ()
    criteria: Sequence[Criterion] = ()
    not_measured: Mapping[str, str] = field(default_factory=dict)
    path: Path | None = None

    def blame(self, problem: str, place: Place) -> InputError:
        """Return an error with what is wrong, with the file and line of its place."""
        return blame(self.path, DeclarationError(problem, place)) if self.path else InputError(problem)

    def tests(self, condition: str, measure: str) -> bool:
        """Tell whether a measure of a condition is tested: with criteria only what one of them covers, else all."""
        return not self.criteria or any(criterion.covers(condition, measure) for criterion in self.criteria)


def load_comparison(path: Path, algorithm: str = "", settings: Mapping[str, Any] = MappingProxyType({})) -> Comparison:
    """Return the comparison that a file declares; `algorithm`, if given, is that of side b in place of the file's.

    `settings` count in place of the file's of the same names.

    Raise DeclarationError where the file breaks its schema, or where there is no such campaign.
    """
    declared = load_declared(path, "comparison") | dict(settings)
    if algorithm:
        declared["b"] |= {"algorithm": algorithm, "name": None}
    if not (path.parent / declared["campaign"]).is_file():
        problem = f"campaign: {declared['campaign']} {_describe_missing(Path(declared['campaign']), path.parent)}"
        raise blame(path, DeclarationError(problem, ("campaign",)))
    compared = _make(path.stem + (f"-{algorithm}" if algorithm else ""), declared, path.parent)
    return replace(compared, path=path)


def make_comparison(first: str, second: str, campaign: Path, settings: Mapping[str, Any]) -> Comparison:
    """Return the comparison of two sides of the command line, each as `read_side` takes it.

    `settings` are any others of the schema, whose defaults hold otherwise. Raise InputError where the campaign is not
    there.
    """
    sides = {"a": read_side(first), "b": read_side(second)}
    if not campaign.is_file():
        raise InputError(f"--campaign: {campaign} {_describe_missing(campaign)}")
    declared = {"title": "", "campaign": str(campaign), **sides, **settings}
    fill_defaults(declared, load_yaml(SCHEMAS / "comparison.schema.yaml"))
    compared = _make(f"{campaign.stem}-compared", declared, Path())
    return replace(compared, title=f"{compared.a.name} against {compared.b.name}")


def read_side(text: str) -> dict[str, Any]:
    """Return what a side of the command line sets: parts with commas between them, each a kernel or a setting.

    A path (with a slash) is a kernel, `net.…=value` a sysctl, `module.parameter=value` a parameter of a kernel module,
    any other word an algorithm; `default` changes nothing. Raise InputError for what is none of these.
    """
    side: dict[str, Any] = {"name": None, "kernel": None, "algorithm": None, "sysctls": {}, "module_parameters": {}}
    for part in text.split(","):
        name, is_set, value = part.strip().partition("=")
        if is_set and "." in name and value:
            side["sysctls" if name.startswith(SYSCTL) else "module_parameters"][name] = value
        elif "/" in name:
            side["kernel"] = name
        elif is_set or not ALGORITHM.fullmatch(name) or (name not in KNOWN and Path(name).is_file()):
            raise InputError(f"`{part}` is not a side: {_mend_side(name, value)}")
        elif name.isdecimal():
            raise InputError(f"`{part}` is not a side: {_mend_values(text)}")
        elif name != UNCHANGED:
            side["algorithm"] = name
    return side


def _mend_side(name: str, value: str) -> str:
    """Return how to write a part of a side that is neither a kernel's path, a setting nor an algorithm."""
    if Path(name).is_file():
        return f"the path of a kernel has a slash; write ./{name}"
    if SETTING.fullmatch(name):
        return f"a setting needs a value; write {quote_side(f'{name}={value or find_example(name) or 1}')}"
    if setting := complete_name(name, EXAMPLES):
        return f"write {quote_side(f'{setting}={value or find_example(setting)}')}"
    return "write ./linux for a kernel, tcp_cubic.hystart=0 or net.ipv4.tcp_sack=0 for a setting, bbr for an algorithm"


def _mend_values(text: str) -> str:
    """Return how to write a side with a number that belongs to no setting: the values of one have blanks between."""
    meant = re.sub(r", *(?=\d+(,|$))", " ", text)
    return f"commas are between settings, blanks between the values of one; write {quote_side(meant)}"


def quote_side(text: str) -> str:
    """Return a side as a shell takes it for one word."""
    return f'"{text}"' if " " in text else text


def _describe_missing(campaign: Path, base: Path = HERE) -> str:
    if (base / campaign).is_dir():
        return "is a folder; name a file in it"
    return f"does not exist{guess_path(campaign, base=base)}"


def _make(name: str, declared: dict[str, Any], folder: Path) -> Comparison:
    campaign = folder / declared.pop("campaign")
    of_a, of_b = declared.pop("a"), declared.pop("b")
    a, b = _make_side(of_a, of_b), _make_side(of_b, of_a)
    criteria = [Criterion(name=key, **facts) for key, facts in declared.pop("criteria", {}).items()]
    if criteria and b.algorithm:
        declared["title"] += f": {b.algorithm}"
    return Comparison(name=name, campaign=campaign, a=a, b=b, criteria=criteria, **declared)


def _make_side(declared: dict[str, Any], other: dict[str, Any]) -> Side:
    settings = declared["sysctls"] | declared["module_parameters"]
    kernel = declared["kernel"]
    # A kernel goes by its file's name, by its whole path only where both files have the same name.
    if kernel and Path(kernel).name != Path(other["kernel"] or "").name:
        kernel = Path(kernel).name
    parts = [kernel, declared["algorithm"], *(f"{name}={value}" for name, value in settings.items())]
    name = declared["name"] or ", ".join(part for part in parts if part) or UNCHANGED
    return Side(**declared | {"name": name})
