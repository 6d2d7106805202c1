"""Settings as people type them to Snakemake (`archive:mine`, `release.version=2`, `ARCHIVE=mine`), and what to type.

Snakemake ends with a trace where it cannot read `--config`, or finds no file of `--configfile`, and takes a setting
without `--config` for a target.
"""

import re
import shlex
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from ccreport.core.configuration import PATHVARS, Sources, check_file, check_pathvars
from ccreport.core.declarations import SCHEMAS, load_yaml
from ccreport.core.declared_files import DeclarationError, parse_declared
from ccreport.core.schema_problems import find_near, guess_path

TARGET_FIRST: Final = "; a target comes before this option"
READ: Final = re.compile(r"[A-Za-z_][\w-]*\w=")
# archive:mine · release.version=2 · evaluation= generic
SETTING: Final = re.compile(r"(?P<group>[A-Za-z]\w*)(?:\.(?P<key>\w+))? *[=:] *(?P<value>[^\s=]+)")
SPACED: Final = re.compile(r"[\w.]+(?: +=| *= ) *[^\s=]+(?!\S)")


def write_setting(typed: str) -> str | None:
    """Return what `--config` takes in place of a setting, quoted for a shell; None for what is not a setting."""
    if not (parts := SETTING.fullmatch(typed)):
        return None
    known = load_yaml(SCHEMAS / "config.schema.yaml")["properties"]
    group = _correct(parts["group"], known)
    key = parts["key"] and _correct(parts["key"], known.get(group, {}).get("properties", {}))
    value = f"{{{key}: {parts['value']}}}" if key else parts["value"]
    return shlex.quote(f"{group}={value}")


def _correct(word: str, known: Mapping[str, Any]) -> str:
    """Return the key that a word is meant for, else the word; what `make` takes is in capitals and stays."""
    return word if word in known or word.isupper() else find_near(word, known) or word


def explain_target(target: str, keys: Container[str]) -> str | None:
    """Return what to type in place of a target that is a setting, None for another; `keys` are the configuration's."""
    setting = write_setting(target)
    key = re.split("[.=:]", target)[0]
    if setting and key.isupper() and "=" in target:
        own = f" or `--config {setting.replace(key, key.lower(), 1)}`" if key.lower() in keys else ""
        return f"`{target}` is a setting of make: `make report {target}`{own}"
    return f"`{target}` is not a target: `--config {setting}`" if setting and key in keys else None


def find_mistyped(arguments: Sequence[str]) -> str | None:
    """Return what is wrong with the settings in the arguments of a call of Snakemake, None where it can read them."""
    for option, values in _group_arguments(arguments):
        for path in map(Path, values if option in ("--configfile", "--configfiles") else ()):
            if not path.exists():
                return f"{option}: {path} does not exist{guess_path(path) or TARGET_FIRST}"
            try:
                check_file(path)
                check_pathvars(Sources({}, [path]))
            except DeclarationError as error:
                return f"{option}: {error}"
        for number, entry in enumerate(values if option in ("--config", "-C") else ()):
            if not READ.match(entry):
                return f"--config: {_explain_entry(entry, ' '.join(values[max(number - 1, 0) : number + 3]))}"
            key, _, given = entry.partition("=")
            # Without quotes it goes on in the next word, of which more can be said.
            is_whole = all(READ.match(word) for word in values[number + 1 : number + 2])
            if is_whole and given.lstrip()[:1] in ("{", "[") and (fault := _find_fault(given)):
                return f"--config: `{entry}`{fault}"
            if key == PATHVARS and not given.lstrip().startswith("{"):
                return f"--config: `{entry}` is not a group of keys; write 'pathvars={{results: {given}}}'"
    return None


def _find_fault(given: str) -> str | None:
    """Return what to say behind a group or list of the command line that cannot be read, None where it can."""
    try:
        parse_declared(given, "")
    except DeclarationError as error:
        # Without the line: ":1: not YAML: …", or of what is YAML, but no date or a key twice, ":1: …".
        reason = str(error).lstrip(":0123456789 ")
        return f" is {reason}" if reason.startswith("not YAML: ") else f": {reason}"
    return None


def _explain_entry(entry: str, around: str) -> str:
    if spaced := SPACED.search(around):
        return f"`{spaced[0]}` has a blank; write {write_setting(spaced[0])}"
    if "{" in around or "[" in around:
        return f"`{entry}` is by itself; put all of a setting that has blanks in quotes: 'report={{renderer: auto}}'"
    if setting := write_setting(entry):
        return f"`{entry}` is not KEY=VALUE; write {setting}"
    return (
        f"`{entry}` is not KEY=VALUE; a target comes before --config: `snakemake --cores 2 report --config KEY=VALUE`"
    )


def _group_arguments(arguments: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each option with the words up to the next one."""
    starts = [number for number, word in enumerate(arguments) if word.startswith("-")]
    for start, end in pairwise([*starts, len(arguments)]):
        option, equals, value = arguments[start].partition("=")
        yield option, [*([value] if equals else []), *arguments[start + 1 : end]]
