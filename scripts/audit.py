"""Ask whether a known vulnerability concerns a package of requirements-dev.lock: `make audit`.

pip-audit asks the OSV service (https://osv.dev) for each package and version that the lock pins; nothing is installed
or resolved. Ends with 0 where none is known, 1 where there are some, each named, and 2 where the service could not be
asked, which says nothing about the packages.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).resolve().parents[1] / "requirements-dev.lock"
VULNERABLE, NOT_ASKED = 1, 2


def audit(lock: Path, osv_url: str | None) -> int:
    """Print what is known of the packages that a lock file pins, and return the exit code that says it in short."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(lock), "--no-deps", "--disable-pip"]
    command += ["--vulnerability-service", "osv", "--format", "json", "--progress-spinner", "off"]
    command += ["--osv-url", osv_url] if osv_url else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (no shell, fixed arguments)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = (done.stderr.strip().splitlines() or ["pip-audit said nothing"])[-1]
        print(f"NOT AUDITED: the vulnerability service could not be asked ({reason}).", file=sys.stderr)
        print(
            "This says nothing about the packages; try again where https://api.osv.dev is reachable.", file=sys.stderr
        )
        return NOT_ASKED
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    found = [(package, vulnerability) for package in packages for vulnerability in package.get("vulns", [])]
    for package, vulnerability in found:
        mended = ", ".join(vulnerability["fix_versions"]) or "no version yet"
        print(f"{package['name']} {package['version']}: {vulnerability['id']}, mended in {mended}")
    print(f"{len(packages)} packages asked about, {len(found)} known vulnerabilities", *skipped)
    if skipped:
        print(f"NOT AUDITED: {', '.join(skipped)}", file=sys.stderr)
    return VULNERABLE if found else NOT_ASKED if skipped or not packages else 0


def main() -> int:
    """Audit the lock file that the command line names."""
    parser = argparse.ArgumentParser(description="Ask for known vulnerabilities of the packages in a lock file.")
    parser.add_argument("--lock", type=Path, default=LOCK)
    parser.add_argument("--osv-url", help="another server of the OSV interface")
    asked = parser.parse_args()
    return audit(asked.lock, asked.osv_url)


if __name__ == "__main__":
    sys.exit(main())
