"""The configuration of a build: checked against its schema, its paths and names against what there is.

Snakemake has it merged: `--config` over the files of `--configfile` over `config.yaml`. What is wrong is said of the
one that says it.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from ccreport.core.declarations import SCHEMAS, load_yaml
from ccreport.core.declared_files import (
    DeclarationError,
    blame,
    fill_defaults,
    find_scalar,
    load_declared,
    read_declared,
    show_path,
)
from ccreport.core.evaluation import list_evaluations
from ccreport.core.schema_problems import (
    BOOLEANS,
    NOTHING,
    Place,
    Problem,
    find_problem,
    find_release_problem,
    format_place,
    guess,
    guess_near,
    guess_place,
    guess_release,
)
from ccreport.core.settings.release_names import find_license_problem, find_orcid_problem

ON_COMMAND_LINE: Final = "--config"
TYPED_VARIABLE: Final = "CCREPORT_TYPED"  # campaign=CAMPAIGN, where make takes that
PATHVARS: Final = "pathvars"
NOTHING_GIVEN: Final = "null"
# Folders of a checkout that no build writes into.
OF_CHECKOUT: Final = ("evaluations", "reports", "rules", "schemas", "src", "tests", "workflow")
# $body_bytes_sent · ${body_bytes_sent}
LOG_VARIABLE: Final = re.compile(r"\$(?:\{(?P<braced>\w+)\}|(?P<bare>\w+))", re.ASCII)
LOG_SIZES: Final = ("bytes_sent", "body_bytes_sent")
EDGE_GROUPS: Final = ("machine", "label", "cc", "kernel", "population", "time")
# write {renderer: embedded}: the shell would take it apart.
GROUP: Final = re.compile(r"write (\{.*\})")
# What YAML takes for more than text.
NUMBERS: Final = (int, float, date)
LISTS_RUNS: Final = "`python -m ccreport sql 'SELECT run_id FROM runs'`"
# A run is named by its experiment, a dot, and what tells it from the others of the experiment.
RUN_ID: Final = re.compile(r"[^.]+\..+")


@dataclass(frozen=True)
class Sources:
    """Where a configuration comes from: values on the command line, and files, of which later ones go first."""

    given: Mapping[str, Any]
    files: Sequence[Path]

    def blame(self, place: Place, problem: str) -> DeclarationError:
        """Return the error that names where the value at a place is set, by `--config` or by file and line."""
        if _has(self.given, place):
            problem = GROUP.sub(rf"write '{place[0]}=\1'", problem)
            if len(place) == 1:
                problem = problem.replace(NOTHING.format("colon"), NOTHING.format("equals sign"))
            by_make = dict(pair.split("=") for pair in os.environ.get(TYPED_VARIABLE, "").split())
            name = by_make.get(str(place[0]))
            said = f"{name}: {problem.removeprefix(f'{place[0]}: ')}" if name else f"{ON_COMMAND_LINE}: {problem}"
            return DeclarationError(said, place)
        files = [path for path in self.files if path.exists()]
        file = (self._list_setting(place) or files)[-1:]
        return blame(file[0], DeclarationError(problem, place)) if file else DeclarationError(problem, place)

    def _list_setting(self, place: Place) -> list[Path]:
        return [path for path in self.files if path.exists() and _has(read_declared(path), place)]

    def find_text(self, place: Place) -> str | None:
        """Return the value at a place as its file has it, `1.10` and not 1.1; None for one of the command line."""
        file = [] if _has(self.given, place) else self._list_setting(place)[-1:]
        return find_scalar(file[0], place) if file else None

    def sets(self, key: str) -> bool:
        """Tell whether a key has a value of its own, and not its default."""
        return self._rank(key) >= 0

    def is_of_archive(self, key: str) -> bool:
        """Tell whether the value of a key is for the archive that is built, not left from where another is named."""
        return self._rank(key) >= max(self._rank("archive"), 0)

    def _rank(self, key: str) -> int:
        """Return which source sets a key, the higher the later, and the command line last; -1 where none does."""
        if _has(self.given, (key,)):
            return len(self.files)
        settings = self._list_setting((key,))
        return list(self.files).index(settings[-1]) if settings else -1


def _has(value: Any, place: Place) -> bool:
    for part in place:
        if isinstance(value, Mapping) and part in {str(key) for key in value}:
            value = next(item for key, item in value.items() if str(key) == part)
        elif isinstance(value, Sequence) and not isinstance(value, str) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return False
    return True


def check_file(path: Path) -> None:
    """Raise DeclarationError where there is a configuration file that is not YAML, says a key twice or has no keys."""
    if path.exists() and not isinstance(read_declared(path), dict):
        raise DeclarationError(f"{show_path(path)}: it has no keys; write `archive: PATH`, one key a line")


def check_pathvars(sources: Sources) -> None:
    """Raise DeclarationError where `pathvars`, which Snakemake reads before all else is checked, names no folders."""
    values = [sources.given, *(read_declared(path) for path in sources.files if path.exists())]
    for given in (value[PATHVARS] for value in values if isinstance(value, Mapping) and PATHVARS in value):
        if not isinstance(given, Mapping):
            problem = f"{PATHVARS}: `{given}` is not a group of keys; write {{results: {given}}}"
            raise sources.blame((PATHVARS,), problem)
        for name, folder in given.items():
            if not isinstance(folder, str) or not folder:
                raise sources.blame((PATHVARS, name), f"{PATHVARS}.{name}: `{folder}` is not the name of a folder")
            if fault := find_folder_problem(Path(folder)):
                raise sources.blame((PATHVARS, name), f"{PATHVARS}.{name}: {fault}")


def guess_home(path: Path) -> str:
    """Return what to put behind a path that begins with ~, as only shells expand it; nothing for another one."""
    return f"; write {path.expanduser()}, as ~ is not expanded here" if path.parts[:1] == ("~",) else ""


def find_folder_problem(folder: Path) -> str | None:
    """Return why nothing can be written into a folder, which need not exist yet; None where it can."""
    if hint := guess_home(folder):
        return f"{folder} is a folder called ~{hint}"
    nearest = next(place for place in (folder.resolve(), *folder.resolve().parents) if place.exists())
    if not nearest.is_dir():
        return f"{folder} is {'' if nearest == folder.resolve() else f'below {nearest}, '}a file; name a folder"
    return None if os.access(nearest, os.W_OK) else f"{folder} cannot be written; name another folder"


def find_results_problem(results: Path, archives: Collection[Path], checkout: Path) -> str | None:
    """Return why results cannot be in a folder; None where they can."""
    real = results.resolve()
    if problem := find_folder_problem(results):
        return problem
    if archive := next((archive for archive in archives if _shares_folder(real, archive.resolve())), None):
        return f"{results} has the raw files of {show_path(archive)}; name a folder of their own for results"
    if real == checkout or any(real.is_relative_to(checkout / name) for name in OF_CHECKOUT):
        return f"{results} has files of ccreport; name a folder of their own for results"
    return None


def find_archive_problem(results: Path, archives: Collection[Path]) -> str | None:
    """Return why raw files cannot be where they are, as results are there; None where they can."""
    real = results.resolve()
    for archive in archives:
        if _shares_folder(real, folder := archive.resolve()):
            name = show_path(results)
            how = "is" if folder == real else "is in" if folder.parent == real else f"has in it {name},"
            return f"{archive} {how} the folder of results; name a folder of raw files alone"
    return None


def _shares_folder(results: Path, archive: Path) -> bool:
    return results.is_relative_to(archive) or archive.parent == results


def _read_words(config: dict[str, Any], given: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Read `strict=true` and `sections=null` as YAML does: to Snakemake only `True` and `False` are more than text."""
    for key, value in given.items():
        facts = schema.get("properties", {}).get(key, {})
        types = facts.get("type", ())
        if isinstance(value, Mapping) and isinstance(config[key], dict):
            _read_words(config[key], value, facts)
        elif isinstance(value, str) and types == "boolean":
            config[key] = BOOLEANS.get(value.lower(), value)
        elif isinstance(value, str) and value.lower() == NOTHING_GIVEN and "null" in types:
            config[key] = None


def _read_texts(value: Any, schema: Mapping[str, Any], sources: Sources, place: Place = ()) -> None:
    """Read numbers and dates as they are written where text is wanted, as `--config` does in braces and brackets."""
    for key, item in list(enumerate(value) if isinstance(value, list) else value.items()):
        facts = schema.get("items", {}) if isinstance(value, list) else schema.get("properties", {}).get(key, {})
        if isinstance(item, dict | list):
            _read_texts(item, facts, sources, (*place, key))
        elif "string" in facts.get("type", ()) and isinstance(item, NUMBERS) and not isinstance(item, bool):
            value[key] = sources.find_text((*place, key)) or str(item)


def check_config(config: dict[str, Any], sources: Sources) -> None:
    """Fill in the defaults of a configuration, in place; raise DeclarationError where it breaks its schema.

    So it does where a file says a key twice, and where a path or name in it refers to nothing. The archive, the
    evaluations and what they name are looked up by those who read them.
    """
    for path in sources.files:
        check_file(path)
    schema = load_yaml(SCHEMAS / "config.schema.yaml")
    _read_words(config, sources.given, schema)
    _read_texts(config, schema, sources)
    if problem := find_problem(config, schema):
        raise sources.blame(problem.culprit, _find_place_of_key(problem, schema) or str(problem))
    fill_defaults(config, schema)
    for place, text in _list_unknown(config, sources):
        keys = tuple(part for part in place if isinstance(part, str))
        raise sources.blame(place, f"{format_place(keys)}: {text}")


def _find_place_of_key(problem: Problem, schema: Mapping[str, Any]) -> str | None:
    """Return that a key belongs in the evaluation, where it is one of those and not of the configuration."""
    key = problem.culprit[0] if problem.culprit else None
    if key in schema["properties"] or key not in load_yaml(SCHEMAS / "evaluation.schema.yaml")["properties"]:
        return None
    return f"`{key}` is not a key of the configuration; it belongs in the file of the evaluation"


def _list_unknown(config: Mapping[str, Any], sources: Sources) -> Iterator[tuple[Place, str]]:
    """Yield place and words of each path and name that refers to nothing."""
    names = ["explanations", "compare_with", "collect_kernel", "verify"]
    # The default is there for `collect` alone.
    names += ["campaign"] if sources.sets("campaign") else []
    paths: list[tuple[Place, str | None]] = [((name,), config[name]) for name in names]
    for place, value in [*paths, (("release", "former"), config["release"]["former"])]:
        if value is not None and "://" not in value and not Path(value).expanduser().exists():
            hint = "; write null for none" if value.lower() == "none" else guess_place(Path(value), place[-1])
            yield place, f"{value} does not exist{hint}"
        elif value is not None and place[0] in ("explanations", "campaign") and Path(value).expanduser().is_dir():
            yield place, f"{value} is a folder, not a file"
    if (former := config["release"]["former"]) is not None and (fault := find_release_problem(Path(former))):
        yield ("release", "former"), f"{former} is not a release: {fault}; {guess_release(Path(former))}"
    for number, creator in enumerate(config["release"]["creators"]):
        if fault := find_orcid_problem(creator["orcid"]) if "orcid" in creator else "":
            yield ("release", "creators", number, "orcid"), fault
    for number, run in enumerate(config["packet_runs"]):
        if not RUN_ID.fullmatch(run):
            yield ("packet_runs", number), f"`{run}` is not a run_id; {LISTS_RUNS} lists them"
    if problem := find_license_problem(config["release"]["license"]):
        yield ("release", "license"), problem
    if problem := find_layout_problem(config["edge"]["paths"]):
        yield ("edge", "paths"), problem
    if problem := find_log_format_problem(config["edge"]["access_log_format"]):
        yield ("edge", "access_log_format"), problem


def find_layout_problem(layout: str) -> str | None:
    """Return what is wrong with the declared layout of an edge archive, a regular expression with known groups."""
    try:
        groups = re.compile(layout).groupindex
    except re.error as error:
        return f"not a regular expression: {error}"
    unknown = next((group for group in groups if group not in EDGE_GROUPS), None)
    return f"`{unknown}` is not a group that is read{guess(unknown, EDGE_GROUPS)}" if unknown else None


def find_log_format_problem(log_format: str) -> str | None:
    """Return what an nginx `log_format` lacks: the time of a request, or its bytes."""
    known = {braced or bare for braced, bare in LOG_VARIABLE.findall(log_format)}
    is_enough = "request_time" in known and known.intersection(LOG_SIZES)
    return None if is_enough else f"it needs $request_time and {' or '.join(f'${name}' for name in LOG_SIZES)}"


def check_explanations(path: Path, claims: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise DeclarationError where a file of explanations breaks its schema, or explains a claim that is not made.

    `claims` are those of each evaluation of the build, by its name. What the file says of an evaluation that the build
    does not have is left alone, unless that has nearly the name of one that there is.
    """
    known = {*list_evaluations(), *claims}
    for evaluation, facts in load_declared(path, "explanations")["evaluations"].items():
        place: Place = ("evaluations", evaluation)
        if evaluation not in known and (hint := guess_near(evaluation, known)):
            raise blame(path, DeclarationError(f"evaluations: no evaluation is called `{evaluation}`{hint}", place))
        if evaluation in claims:
            check_explained(path, evaluation, facts, claims[evaluation])


def check_explained(path: Path, evaluation: str, facts: Mapping[str, Any], claims: Collection[str]) -> None:
    """Raise DeclarationError where what a file says of an evaluation, `facts`, names a claim that it does not make."""
    place: Place = ("evaluations", evaluation)
    named: list[tuple[Place, str]] = [(("claims", claim), claim) for claim in facts["claims"]]
    named += [
        (("causes", cause, number), claim)
        for cause, of_cause in facts["causes"].items()
        for number, claim in enumerate(of_cause)
    ]
    for within, claim in named:
        if claim not in claims:
            problem = f"{format_place(place)}.{within[0]}: {evaluation} makes no claim `{claim}`{guess(claim, claims)}"
            raise blame(path, DeclarationError(problem, (*place, *within)))
