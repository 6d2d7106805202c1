"""`ro-crate-metadata.json`: what a release holds, and which rule of the pipeline made what from what.

RO-Crate 1.1, https://www.researchobject.org/ro-crate/specification/1.1/, its `CreateAction` for each rule with the
software that ran as instrument. Nothing in it depends on when or where the build ran.
"""

import importlib.metadata
import json
import mimetypes
import platform
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import ccreport
from ccreport.archive.pack import list_files
from ccreport.publish import CRATE, SUMS
from ccreport.publish.datapackage import describe_license
from ccreport.publish.declaration import Creator, Release
from ccreport.publish.provenance import Action, shorten
from ccreport.storage.sums import hash_file, hash_sums

CONTEXT: Final = "https://w3id.org/ro/crate/1.1/context"
# RO-Crate 1.1 is older than schema.org's term. https://schema.org/sha256
OWN_TERMS: Final = {"sha256": "https://schema.org/sha256"}
SPECIFICATION: Final = "https://w3id.org/ro/crate/1.1"
# Folders of many small files are entities as a whole.
FOLDERS: Final = {
    "site/": "The report as a website: open index.html",
    "code/": "The pipeline that made this release: rules, package, queries, schemas, lock",
}
MEDIA_TYPES: Final = {
    ".parquet": "application/vnd.apache.parquet",
    ".zst": "application/zstd",
    ".yaml": "application/yaml",
    ".cff": "application/yaml",
    ".md": "text/markdown",
    ".sql": "application/sql",
    ".tex": "application/x-tex",
}
# polars>=2.1 · PyYAML>=6.0.3 ; python_version < "4"
REQUIREMENT: Final = re.compile(r"[\w.-]+")
Entity = dict[str, Any]


def write_crate(release: Path, declared: Release, actions: list[Action]) -> None:
    """Write the metadata of all files that are in a release so far."""
    folders = {
        **FOLDERS,
        **{f"{path.relative_to(release).as_posix()}/": "Figures" for path in release.glob("evaluations/*/figures")},
    }
    files = list(_describe_files(release, tuple(folders)))
    parts = [*files, *(_describe_folder(release, name, text) for name, text in folders.items())]
    software = list(_describe_software())
    held = {entity["@id"] for entity in parts}
    acts = [_describe_action(action, held) for action in actions]
    graph = [
        {
            "@id": CRATE,
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": SPECIFICATION},
        },
        _describe_root(declared, parts, acts),
        *map(_describe_creator, declared.creators),
        {
            "@id": describe_license(declared.license)["path"],
            "@type": "CreativeWork",
            "name": declared.license,
            "description": f"The licence with the SPDX identifier {declared.license}",
        },
        *parts,
        *software,
        *acts,
    ]
    crate = {"@context": [CONTEXT, OWN_TERMS], "@graph": graph}
    (release / CRATE).write_text(json.dumps(crate, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _describe_root(declared: Release, parts: Iterable[Entity], acts: Iterable[Entity]) -> Entity:
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": declared.title,
        "description": declared.description,
        "version": declared.version,
        "datePublished": declared.day,
        **({"identifier": f"https://doi.org/{declared.doi}"} if declared.doi else {}),
        "license": {"@id": describe_license(declared.license)["path"]},
        "author": [{"@id": _identify(creator)} for creator in declared.creators],
        "publisher": {"@id": _identify(declared.creators[0])},
        "hasPart": [{"@id": part["@id"]} for part in parts],
        "mentions": [{"@id": act["@id"]} for act in acts],
    }


def _identify(creator: Creator) -> str:
    return creator.orcid or "#" + re.sub(r"\W+", "-", creator.name)


def _describe_creator(creator: Creator) -> Entity:
    about = {"@id": _identify(creator), "@type": "Person" if creator.orcid else "Organization", "name": creator.name}
    return about | ({"affiliation": creator.affiliation} if creator.affiliation else {})


def _describe_files(release: Path, folders: tuple[str, ...]) -> Iterator[Entity]:
    for path in list_files(release):
        name = path.as_posix()
        if name.startswith(folders) or name in (CRATE, SUMS):
            continue
        guessed = MEDIA_TYPES.get(path.suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        yield {
            "@id": name,
            "@type": "File",
            "name": path.name,
            "encodingFormat": guessed,
            "contentSize": str((release / path).stat().st_size),
            "sha256": hash_file(release / path),
        }


def _describe_folder(release: Path, name: str, text: str) -> Entity:
    listed = list_files(release / name)
    sums = {f"{name}{path.as_posix()}": hash_file(release / name / path) for path in listed}
    return {"@id": name, "@type": "Dataset", "name": text, "sha256": hash_sums(sums)}


def _describe_software() -> Iterator[Entity]:
    """Yield the pipeline first, then Python and the packages that it names, each with the version that ran."""
    required = sorted({*_list_requirements()}, key=str.lower)
    versions = {"Python": platform.python_version()}
    versions |= {name: importlib.metadata.version(name) for name in required}
    yield {
        "@id": "#ccreport",
        "@type": "SoftwareApplication",
        "name": "ccreport",
        "version": ccreport.__version__,
        "softwareRequirements": [{"@id": f"#software-{name}"} for name in versions],
    }
    for name, version in versions.items():
        yield {"@id": f"#software-{name}", "@type": "SoftwareApplication", "name": name, "version": version}


def _list_requirements() -> Iterator[str]:
    for requirement in importlib.metadata.requires("ccreport") or ():
        name = REQUIREMENT.match(requirement)
        if name and "extra ==" not in requirement:
            yield name[0]


def _describe_action(action: Action, held: set[str]) -> Entity:
    of_evaluation = f" for {action.evaluation}" if action.evaluation else ""
    name = f"{action.rule}-{action.evaluation}" if action.evaluation else action.rule
    return {
        "@id": f"#{name}",
        "@type": "CreateAction",
        "name": f"Rule {action.rule}{of_evaluation}",
        "instrument": {"@id": "#ccreport"},
        "object": _refer(shorten(action.inputs), held),
        "result": _refer(sorted(action.outputs), held),
    }


def _refer(paths: Iterable[str], held: set[str]) -> list[Entity]:
    """Return references to entities: of a folder that is none of its own to all that are in it."""
    inside = ([path] if path in held else sorted(name for name in held if name.startswith(path)) for path in paths)
    return [{"@id": name} for names in inside for name in names]
