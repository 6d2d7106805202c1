"""
The archive: its place or those of its parts, on disk or elsewhere, and how its files are laid out.
"""

from ccreport.archive.parts import name_archive
from ccreport.archive.read_layout import check_layout, split_archive
from ccreport.archive.unpack import looks_packed
from ccreport.core.configuration import (
    find_archive_problem,
    find_results_problem,
    guess_home,
)
from ccreport.core.declared_files import DeclarationError
from ccreport.core.schema_problems import guess_path
from ccreport.storage.places import check_address, find_fetched, guess_address
from ccreport.storage.places import is_remote, list_fetch_folders

# The archive's place, or those of its parts. What is elsewhere is fetched first, and read from where it then is.
GIVEN, LAYOUT = split_archive(config["archive"])
ARCHIVES = [GIVEN] if isinstance(GIVEN, str) else GIVEN
IS_REMOTE = any(map(is_remote, ARCHIVES))
FETCHED = list_fetch_folders(GIVEN, RESULTS / "fetched")
PLACES = [
    find_fetched(name, FETCHED[name]) if name in FETCHED else Path(name)
    for name in ARCHIVES
]
for number, (place, name) in enumerate(zip(PLACES, ARCHIVES)):
    at = ["archive", number] if len(ARCHIVES) > 1 else ["archive"]
    if name not in FETCHED and not place.exists():
        refuse(
            f"archive: {name} does not exist"
            + (
                guess_home(place)
                or guess_path(place)
                or guess_address(name)
                or "; name a folder, a tarball or an address"
            ),
            *at,
        )
    if name not in FETCHED and place.is_file() and not looks_packed(place):
        refuse(
            f"archive: {name} is not a folder, a tarball or a zip; put files by themselves into a folder",
            *at,
        )
    try:
        if name in FETCHED:
            check_address(name)
    except InputError as error:
        refuse(f"archive: {error}", *at)
LOCAL = [place for place, name in zip(PLACES, ARCHIVES) if name not in FETCHED]
if not CONFIG_SOURCES.sets("pathvars"):
    if problem := find_archive_problem(RESULTS, LOCAL):
        refuse(f"archive: {problem}", "archive")
if problem := find_results_problem(RESULTS, LOCAL, SOURCES.parent):
    refuse(f"pathvars.results: {problem}", "pathvars", "results")
try:
    LAYOUT_HASH = check_layout(LAYOUT)
except DeclarationError as error:
    refuse(str(error), *error.place) if error.place else stop(error)
UNPACKED = RESULTS / "archive"


def has_own_results():
    """Tell whether the results are of the archive that is configured, by its name: they may still be of another."""
    facts = RESULTS / "archive.json"
    return (
        facts.exists() and name_archive(PLACES) == json.loads(facts.read_text())["name"]
    )
