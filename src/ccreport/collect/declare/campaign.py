"""Declarations of sweeps, `campaigns/*.yaml`: read, checked against their schema, each job written out.

A job has the settings of the campaign, of its session, its own and those of its case of `for_each`; of those that
exclude each other the innermost counts. What a job then is, no longer depends on anything around it.
"""

import copy
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from ccreport.collect.declare.hints import FOR_EACH_EXAMPLE, MEANT, NOT_FILLED_IN, WORD, hint_at_for_each
from ccreport.core.algorithms import KNOWN
from ccreport.core.declarations import SCHEMAS, load_yaml
from ccreport.core.declared_files import DeclarationError, blame, blame_kind, fill_defaults, read_declared, show_path
from ccreport.core.schema_problems import Place, find_near, find_problem, format_place, guess, guess_near

Settings = dict[str, Any]

# Of each of these one is set; setting it takes away what `defaults` set of the others.
ALTERNATIVES: Final = (
    ("duration_s", "volume_bytes"),
    ("loss_pct", "loss"),
    ("buffer_bytes", "buffer_bdp"),
    ("flows_count", "clients"),
    ("stagger_s", "clients"),
)
# Settings of several keys, of which a level may set some.
NESTED: Final = ("queue", "commands", "instruments", "module_parameters", "sysctls")
PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")


class CampaignError(DeclarationError):
    """A campaign breaks its schema, or contradicts itself."""


@dataclass(frozen=True)
class Session:
    """A part of a campaign; each of its jobs has its `name` and every setting of the schema.

    `places` tell where in the file each job is declared.
    """

    label: str
    hostname: str
    jobs: tuple[Settings, ...]
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Campaign:
    """A whole declaration; `testbed` has every key of the schema, `path` is its file where it comes from one."""

    title: str
    testbed: Settings
    sessions: tuple[Session, ...]
    path: Path | None = None

    def blame(self, error: CampaignError) -> DeclarationError:
        """Return an error with the file and line of its place."""
        return blame(self.path, error) if self.path else error


def load_campaign(path: Path, testbed: Mapping[str, str] = MappingProxyType({})) -> Campaign:
    """Return a campaign with all jobs written out; raise DeclarationError where the file breaks its schema.

    Settings of the testbed that are given count in place of the campaign's own.
    """
    declared = read_declared(path)
    if declared is None:
        raise DeclarationError(f"{show_path(path)} is empty")
    if testbed and isinstance(declared, dict) and isinstance(declared.setdefault("testbed", {}), dict):
        declared["testbed"] |= testbed
    try:
        return replace(read_campaign(declared), path=path)
    except CampaignError as error:
        raise blame_kind(path, read_declared(path), "campaign") or blame(path, error) from error


def read_campaign(declared: Any) -> Campaign:
    """Return the campaign that the content of a file declares, as `load_campaign` does."""
    schema = load_schema()
    _check(declared, schema, declared)
    session_schema = schema["properties"]["sessions"]["items"]
    # A testbed or a hostname has its defaults at once; a job's wait until all levels are together.
    testbed = copy.deepcopy(declared.get("testbed", {}))
    fill_defaults(testbed, copy.deepcopy(schema["properties"]["testbed"]))
    sessions = []
    for number, session in enumerate(declared["sessions"]):
        job_schema = session_schema["properties"]["jobs"]["items"]
        written = [
            (("sessions", number, "jobs", place), job)
            for place, job in _write_out(declared.get("defaults", {}), session, number, job_schema)
        ]
        places, jobs = zip(*written, strict=True)
        hostname = session.get("hostname", session_schema["properties"]["hostname"]["default"])
        sessions.append(Session(session["label"], hostname, jobs, places))
    _check_names(sessions)
    return Campaign(declared["title"], testbed, tuple(sessions))


@cache
def load_schema() -> Settings:
    """Return the schema of campaigns, which is the only place with their defaults."""
    schema: Settings = load_yaml(SCHEMAS / "campaign.schema.yaml")
    return schema


def _write_out(
    defaults: Settings, session: Settings, session_number: int, schema: Settings
) -> Iterator[tuple[int, Settings]]:
    """Yield the jobs of a session by the numbers they are declared under, one for each combination of `for_each`."""
    for number, declared in enumerate(session["jobs"]):
        try:
            for job in _write_out_job((defaults, session.get("defaults", {})), declared, session["label"], schema):
                yield number, job
        except CampaignError as error:
            place = ("sessions", session_number, "jobs", number, *error.place)
            raise CampaignError(str(error), place) from error


def _write_out_job(
    outer: tuple[Settings, Settings], declared: Settings, session: str, schema: Settings
) -> Iterator[Settings]:
    place = f"session {session}, job {declared['name']}"
    own = {key: value for key, value in declared.items() if key not in ("name", "for_each")}
    for level in (*outer, own):
        _check_alternatives(level, place)
    settings = schema["properties"].keys() - {"name", "for_each"}
    cases = list(_list_cases(declared.get("for_each", {}), settings, place))
    for key in sorted(own.keys() - set(NESTED)):
        if all(key in case for _, case, _ in cases):
            raise CampaignError(f"{place}: every case of for_each has a `{key}` of its own; leave this one out", (key,))
    _check_placeholders(declared["name"], [words for words, *_ in cases], session)
    for words, case, places in cases:
        job: Settings = {}
        for level in (*outer, own, case):
            job = _overlay(job, level)
        job = _drop_nulls(job)
        name = _fill_in(declared["name"], words, place)
        # What a case sets has been checked by no one yet; a value that is wrong makes a wrong name.
        try:
            _check_alternatives(case, place)
            own_case = {key: value for key, value in case.items() if value is not None or key not in settings}
            _check({"name": declared["name"]} | own_case, schema, None, f"session {session}, job {name}")
        except CampaignError as error:
            raise CampaignError(str(error), (*places.get(error.place[0], ()), *error.place)) from error
        job["name"] = name
        if odd := [key for key, word in words.items() if f"{{{key}}}" in declared["name"] and not WORD.fullmatch(word)]:
            problem = f"`{words[odd[0]]}` would be part of a folder's name, in which are letters, digits and . _ + = -"
            raise CampaignError(f"{place}, for_each.{odd[0]}: {problem}; give it a short `name`", ("for_each", odd[0]))
        fill_defaults(job, copy.deepcopy(schema))
        del job["for_each"]
        yield job


def _list_cases(
    for_each: Settings, known: set[str], job: str
) -> Iterator[tuple[dict[str, str], Settings, dict[str | int, Place]]]:
    """Yield the words for placeholders, the settings and their places, of each combination, the first key slowest."""
    choices = []
    for key, values in for_each.items():
        if twice := [value for number, value in enumerate(values) if value in values[:number]]:
            name = twice[0].get("name") if isinstance(twice[0], dict) else twice[0]
            raise CampaignError(f"{job}, for_each.{key}: `{name}` is listed twice", ("for_each", key))
        cases = (_read_case(key, value, known, job) for value in values)
        choices.append([(("for_each", key, number), word, case) for number, (word, case) in enumerate(cases)])
    for combination in itertools.product(*choices):
        settings: Settings = {}
        places: dict[str | int, Place] = {}
        for place, _, case in combination:
            settings = _overlay(settings, case)
            places |= dict.fromkeys(case, place)
        yield {place[1]: word for place, word, _ in combination}, settings, places


def _read_case(key: str, value: Any, known: set[str], job: str) -> tuple[str, Settings]:
    if isinstance(value, dict) and "name" in value:
        return str(value["name"]), {name: item for name, item in value.items() if name != "name"}
    if isinstance(value, dict):
        near = next((name for name in value if find_near("name", [name])), None)
        rest = ", ".join(f"{name}: {item}" for name, item in value.items())
        wanted = (
            f"; did you mean `name` in place of `{near}`?"
            if near
            else f", which goes into the job's name: write `{{name: short, {rest}}}` and {{{key}}} in the job's name"
        )
        raise CampaignError(f"{job}, for_each.{key}: a case of several keys needs a `name`{wanted}", ("for_each", key))
    if key not in known:
        algorithm = value if value in KNOWN else "cubic"
        wanted = guess_near(key, known) or f", such as `{{name: {value}, congestion_control: {algorithm}}}`"
        problem = f"`{key}` is not a setting, so that each case needs a `name` and settings{wanted}"
        raise CampaignError(f"{job}, for_each.{key}: {problem}", ("for_each", key))
    word = "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return word, {key: value}


def _overlay(lower: Settings, upper: Settings) -> Settings:
    """Return settings with those of an inner level over them."""
    merged = dict(lower)
    for group in ALTERNATIVES:
        if any(upper.get(key) is not None for key in group):
            for key in group:
                merged.pop(key, None)
    for key, value in upper.items():
        is_nested = key in NESTED and isinstance(value, dict) and isinstance(lower.get(key), dict)
        merged[key] = lower[key] | value if is_nested else copy.deepcopy(value)
    return merged


def _drop_nulls(job: Settings) -> Settings:
    """Return settings without those that null takes away, so that the schema's defaults hold."""
    groups = {key: job[key] for key in ("sysctls", "module_parameters") if isinstance(job.get(key), dict)}
    told = job | {key: {name: item for name, item in own.items() if item is not None} for key, own in groups.items()}
    return {key: value for key, value in told.items() if value is not None}


def _fill_in(name: str, words: dict[str, str], place: str) -> str:
    if unknown := [key for key in PLACEHOLDER.findall(name) if key not in words]:
        problem = f"for_each has no `{unknown[0]}`{guess(unknown[0], words)}"
        if not unknown[0]:
            problem = f"nothing between its braces; name a key of for_each, as `{{{next(iter(words), 'rtt_ms')}}}`"
        raise CampaignError(f"{place}, name: {problem}", ("name",))
    return PLACEHOLDER.sub(lambda match: words[match[1]], name)


def _check_placeholders(name: str, cases: list[dict[str, str]], session: str) -> None:
    """Raise CampaignError where cases of one job have one name, as a key of `for_each` is not in braces in it."""
    used = PLACEHOLDER.findall(name)
    differing = [key for key in cases[0] if key not in used and len({words[key] for words in cases}) > 1]
    if differing and set(used) <= cases[0].keys():
        # A brace that is not closed begins no placeholder.
        begin = name if used else name.partition("{")[0].rstrip("_")
        whole = "_".join([begin, *(f"{{{key}}}" for key in differing)])
        problem = f"two jobs are called {_fill_in(name, cases[0], session)}; name what differs"
        raise CampaignError(f'session {session}: {problem}: `name: "{whole}"`', ("name",))


def _check_alternatives(level: Settings, place: str) -> None:
    for key, other in ALTERNATIVES:
        if level.get(key) is not None and level.get(other) is not None:
            raise CampaignError(f"{place}: {key} and {other} exclude each other", (key,))


def _check_names(sessions: list[Session]) -> None:
    labels = [session.label for session in sessions]
    if twice := sorted({label for label in labels if labels.count(label) > 1}):
        number = len(labels) - 1 - labels[::-1].index(twice[0])
        raise CampaignError(f"two sessions are called {twice[0]}", ("sessions", number, "label"))
    for session in sessions:
        names = [job["name"] for job in session.jobs]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            place = session.places[len(names) - 1 - names[::-1].index(twice[0])]
            problem = f"session {session.label}: two jobs are called {twice[0]}; name what differs"
            raise CampaignError(problem, (*place, "name"))


def _check(value: Any, schema: Settings, declared: Any, place: str = "") -> None:
    """Raise CampaignError for what fits the schema least, with the names of session and job in place of numbers."""
    problem = find_problem(value, schema)
    if problem is None:
        return
    where = ([place] if place else []) + _name_place(list(problem.place), declared)
    text, given = problem.text, reduce(getitem, problem.place, value)
    key = str(problem.place[-1]) if problem.place else "name"
    if problem.culprit != problem.place and (meant := MEANT.get(str(problem.culprit[-1]))):
        text = f"`{problem.culprit[-1]}` is not a key; did you mean {meant}?"
    if key == "for_each" and not isinstance(given, dict):
        text = f"this is not a setting with its values; {FOR_EACH_EXAMPLE}"
    if key == "name" and isinstance(given, dict) and len(given) == 1:
        text += f'; a name that begins with a brace is in quotes: "{{{next(iter(given))}}}"'
    if isinstance(given, str) and key != "name" and PLACEHOLDER.search(given):
        text, given = f"`{given}` {NOT_FILLED_IN}", "[…]"
    settings = schema["properties"].get("defaults", schema)["properties"]
    group = str(problem.place[-2]) if len(problem.place) > 1 and problem.place[-2] in NESTED else ""
    if (key in settings or group) and (text.startswith("a list is not") or text.endswith(NOT_FILLED_IN)):
        text += f"; {hint_at_for_each(key, given, group)}"
    if key == "duration_s" and isinstance(given, float):
        text += ": iperf3 counts whole seconds"
    raise CampaignError(f"{', '.join(where)}: {text}" if where else text, problem.culprit)


def _name_place(path: list[Any], declared: Any) -> list[str]:
    named = []
    if len(path) > 1 and path[0] == "sessions":
        session = declared["sessions"][path[1]]
        named.append(f"session {session.get('label', path[1] + 1) if isinstance(session, dict) else path[1] + 1}")
        path = path[2:]
        if len(path) > 1 and path[0] == "jobs":
            job = session["jobs"][path[1]]
            named.append(f"job {job.get('name', path[1] + 1) if isinstance(job, dict) else path[1] + 1}")
            path = path[2:]
    return named + ([format_place(tuple(path))] if path else [])
