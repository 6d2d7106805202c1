"""Run the validators of others on a release, as a program of its own; no socket can be opened while they run.

Frictionless checks the descriptor and the rows of the CSV files; Parquet it reads through pandas only, which has no
missing integers, so of these bytes and hash are checked by the tests themselves. The context of
RO-Crate 1.1 is the one that the package `rocrate` has with it.
"""

import json
import socket
import sys
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

CONTEXT = "https://w3id.org/ro/crate/1.1/context"


def refuse(*arguments: Any, **options: Any) -> Any:
    raise AssertionError(f"a request was made: {arguments} {options}")


def check_package(release: Path) -> list[str]:
    from frictionless import Package, system  # noqa: PLC0415

    with system.use_context(trusted=True):
        descriptor = json.loads((release / "datapackage.json").read_text(encoding="utf-8"))
        Package.from_descriptor(descriptor, basepath=str(release)).to_descriptor()
        tables = [one for one in descriptor["resources"] if one["format"] == "csv"]
        report = Package.from_descriptor(descriptor | {"resources": tables}, basepath=str(release)).validate()
    return [str(row) for row in report.flatten(["name", "type", "note"])]


def check_crate(release: Path) -> list[str]:
    import requests  # noqa: PLC0415
    from rocrate.rocrate import ROCrate  # noqa: PLC0415
    from rocrate_validator import services  # noqa: PLC0415
    from rocrate_validator.models import Severity, ValidationSettings  # noqa: PLC0415
    from rocrate_validator.utils.http import HttpRequester  # noqa: PLC0415

    bundled = files("rocrate").joinpath("data/ro-crate.jsonld").read_bytes()
    assert json.loads(bundled)["@id"] == CONTEXT

    def answer(_requester: Any, url: str, **_options: Any) -> requests.Response:
        if url != CONTEXT:
            refuse(url)
        response = requests.Response()
        response.status_code, response._content, response.url = 200, bundled, url
        response.headers["Content-Type"] = "application/ld+json"
        return response

    HttpRequester.get = answer
    with tempfile.TemporaryDirectory() as work:
        settings = ValidationSettings(
            rocrate_uri=str(release),
            profile_identifier="ro-crate-1.1",
            requirement_severity=Severity.REQUIRED,
            offline=True,
            cache_path=Path(work) / "cache",
            skip_availability_check=True,
        )
        result = services.validate(settings)
    ROCrate(release)
    return [f"{issue.severity.name} {issue.check.identifier}: {issue.message}" for issue in result.get_issues()]


if __name__ == "__main__":
    socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse  # type: ignore[assignment]
    check = {"package": check_package, "crate": check_crate}[sys.argv[1]]
    print("\n".join(check(Path(sys.argv[2]))), end="")
