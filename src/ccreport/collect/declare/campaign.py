"""Declarations of sweeps, `campaigns/*.yaml`: read, checked against their schema, each job written out.

A job has the settings of the campaign, of its session, its own and those of its case of `for_each`; of those that
exclude each other the innermost counts. What a job then is, no longer depends on anything around it.
"""

import copy
import difflib
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import jsonschema
import yaml

from ccreport.errors import InputError
from ccreport.evaluation import fill_defaults
from ccreport.schemas import SCHEMAS

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


class CampaignError(InputError):
    """A campaign breaks its schema, or contradicts itself."""


@dataclass(frozen=True)
class Session:
    """A part of a campaign; each of its jobs has its `name` and every setting of the schema."""

    label: str
    hostname: str
    jobs: tuple[Settings, ...]


@dataclass(frozen=True)
class Campaign:
    """A whole declaration; `testbed` has every key of the schema."""

    title: str
    testbed: Settings
    sessions: tuple[Session, ...]


def load_campaign(path: Path) -> Campaign:
    """Return a campaign with all jobs written out; raise CampaignError where the file breaks its schema."""
    try:
        declared = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CampaignError(f"{path.name} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CampaignError(f"{path.name} is no YAML: {error}") from error
    try:
        return read_campaign(declared)
    except CampaignError as error:
        raise CampaignError(f"{path.name}, {error}") from error


def read_campaign(declared: Any) -> Campaign:
    """Return the campaign that the content of a file declares, as `load_campaign` does."""
    schema = load_schema()
    _check(declared, schema, declared)
    session_schema = schema["properties"]["sessions"]["items"]
    # A testbed or a hostname has its defaults at once; a job's wait until all levels are together.
    testbed = copy.deepcopy(declared.get("testbed", {}))
    fill_defaults(testbed, copy.deepcopy(schema["properties"]["testbed"]))
    sessions = []
    for session in declared["sessions"]:
        jobs = tuple(_write_out(declared.get("defaults", {}), session, session_schema["properties"]["jobs"]["items"]))
        hostname = session.get("hostname", session_schema["properties"]["hostname"]["default"])
        sessions.append(Session(session["label"], hostname, jobs))
    _check_names(sessions)
    return Campaign(declared["title"], testbed, tuple(sessions))


@cache
def load_schema() -> Settings:
    """Return the schema of campaigns, which is the only place with their defaults."""
    schema: Settings = yaml.safe_load((SCHEMAS / "campaign.schema.yaml").read_text(encoding="utf-8"))
    return schema


def _write_out(defaults: Settings, session: Settings, schema: Settings) -> Iterator[Settings]:
    """Yield the jobs of a session with every setting, one for each combination of `for_each`."""
    for declared in session["jobs"]:
        place = f"session {session['label']}, job {declared['name']}"
        own = {key: value for key, value in declared.items() if key not in ("name", "for_each")}
        for level in (defaults, session.get("defaults", {}), own):
            _check_alternatives(level, place)
        settings = schema["properties"].keys() - {"name", "for_each"}
        for words, case in _list_cases(declared.get("for_each", {}), settings, place):
            _check_alternatives(case, place)
            job: Settings = {}
            for level in (defaults, session.get("defaults", {}), own, case):
                job = _overlay(job, level)
            job["name"] = _fill_in(declared["name"], words, place)
            # What a case sets has been checked by no one yet.
            _check(job, schema, None, f"session {session['label']}, job {job['name']}")
            fill_defaults(job, copy.deepcopy(schema))
            del job["for_each"]
            yield job


def _list_cases(for_each: Settings, known: set[str], place: str) -> Iterator[tuple[dict[str, str], Settings]]:
    """Yield the words for placeholders and the settings of each combination, the first key slowest."""
    choices = []
    for key, values in for_each.items():
        cases = [_read_case(key, value, known, f"{place}, for_each.{key}") for value in values]
        choices.append(cases)
    for combination in itertools.product(*choices):
        settings: Settings = {}
        for _, _, case in combination:
            settings = _overlay(settings, case)
        yield {key: word for key, word, _ in combination}, settings


def _read_case(key: str, value: Any, known: set[str], place: str) -> tuple[str, str, Settings]:
    if isinstance(value, dict) and "name" in value:
        return key, str(value["name"]), {name: item for name, item in value.items() if name != "name"}
    if key not in known:
        raise CampaignError(f"{place}: {key} is no setting, so a case needs a `name` and settings{_guess(key, known)}")
    word = "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return key, word, {key: value}


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


def _fill_in(name: str, words: dict[str, str], place: str) -> str:
    if unknown := [key for key in PLACEHOLDER.findall(name) if key not in words]:
        raise CampaignError(f"{place}, name: for_each has no {unknown[0]!r}{_guess(unknown[0], words)}")
    return PLACEHOLDER.sub(lambda match: words[match[1]], name)


def _check_alternatives(level: Settings, place: str) -> None:
    for one, other in ALTERNATIVES:
        if level.get(one) is not None and level.get(other) is not None:
            raise CampaignError(f"{place}: {one} and {other} exclude each other")


def _check_names(sessions: list[Session]) -> None:
    labels = [session.label for session in sessions]
    if twice := sorted({label for label in labels if labels.count(label) > 1}):
        raise CampaignError(f"two sessions are called {twice[0]}")
    for session in sessions:
        names = [job["name"] for job in session.jobs]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise CampaignError(f"session {session.label}: two jobs are called {twice[0]}; name what differs")


def _check(value: Any, schema: Settings, declared: Any, place: str = "") -> None:
    """Raise CampaignError for what fits the schema least, with the names of session and job in place of numbers."""
    validator = jsonschema.Draft202012Validator(schema)
    error = jsonschema.exceptions.best_match(validator.iter_errors(value))
    if error is None:
        return
    message = error.message
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = error.schema["properties"]
        unknown = min(key for key in map(str, error.instance) if key not in known)
        message = f"{unknown} is no key of this place{_guess(unknown, known)}"
    elif error.validator == "pattern":
        message = f"{error.instance!r} is not allowed here: {error.schema.get('description', error.message)}"
    where = [place] if place else []
    where += _name_place(list(error.absolute_path), declared)
    raise CampaignError(f"{', '.join(where) or 'the top level'}: {message}")


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
    return named + ([".".join(map(str, path))] if path else [])


def _guess(word: str, known: Any) -> str:
    near = difflib.get_close_matches(word, list(known), n=2)
    return f"; is it {' or '.join(near)}?" if near else ""
