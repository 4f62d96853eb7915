#!/usr/bin/env python3
"""The tree speaks of the product alone: no path of somebody's machine, no package registry's host name.

    hygiene.py [ROOT]       check the files that git tracks or would track (without git: all but build output)
    hygiene.py --self-test  plant one of each and see it found

Prints `file:line: what`. Exit status: 0 clean, 1 not, 2 usage.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

# Written in pieces, so that this file does not trip over itself.
REGISTRIES = ["deb." "debian.org", "security." "debian.org", "snapshot." "debian.org", "ftp." "debian.org",
              "registry." "npmjs.org", "registry." "yarnpkg.com", "py" "pi.org", "files." "pythonhosted.org",
              "proxy." "golang.org", "sum." "golang.org", "crates" ".io", "rubygems" ".org", "repo1." "maven.org",
              "repo." "maven.apache.org", "packages." "cloud.google.com", "deb." "nodesource.com"]
PATTERNS = [
    ("a path of somebody's machine", re.compile(r"(?<![\w.$}/-])/(?:wor" r"k|roo" r"t|home/\w+)/")),
    ("a folder outside the tree", re.compile(r"(?<![\w./])(?:\.\./)+shar" r"ed\b")),
    ("a package registry", re.compile(r"(?<![\w.-])(?:" + "|".join(map(re.escape, REGISTRIES)) + r")(?![\w-])", re.I)),
]
SKIPPED_FOLDERS = {".git", ".deps", "build", "__pycache__", ".pytest_cache"}
LARGEST = 4 << 20


def files_of(root):
    """Tracked files and those that would be; paths below root."""
    try:
        listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
        names = [name for name in listed.decode(errors="surrogateescape").split("\0") if name]
        if names:
            return sorted(set(names))
    except (OSError, subprocess.CalledProcessError):
        pass
    return sorted(str(path.relative_to(root)) for path in root.rglob("*")
                  if not SKIPPED_FOLDERS & set(path.relative_to(root).parts)
                  and not any(part.startswith("build-") for part in path.relative_to(root).parts))


def check(root):
    """(files read, findings)"""
    findings, count = [], 0
    for name in files_of(root):
        path = root / name
        if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:
            continue
        data = path.read_bytes()
        count += 1
        if b"\0" in data[:8192]:
            continue
        for number, line in enumerate(data.decode(errors="replace").split("\n"), 1):
            for what, pattern in PATTERNS:
                match = pattern.search(line)
                if match:
                    findings.append(f"{name}:{number}: {what}: {match.group(0)}")
    return count, findings


def self_test():
    planted = {
        "/wor" "k/main/build": "path", "see /roo" "t/x": "path", "(/home/" "ann/x)": "path", "../shar" "ed/y": "folder",
        "http://" + REGISTRIES[0] + "/debian": "registry", REGISTRIES[4]: "registry", "https://" + REGISTRIES[6] + "/simple": "registry",
    }
    clean = ["usr/wo" + "rk/x", "$HOME/root/", "a/root/b", "https://example.com/root/", "/homepage/x", "x" + REGISTRIES[6], "the root"]
    failed = 0
    for text, kind in [*planted.items(), *((text, None) for text in clean)]:
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "file.txt").write_text(f"first\n{text}\n")
            _, found = check(pathlib.Path(folder))
            good = not found if kind is None else any(f.startswith("file.txt:2: ") and kind in f for f in found)
            if not good:
                print(f"{text!r}: found {found}, expected {kind}")
                failed += 1
    print(f"hygiene-self-test: {len(planted) + len(clean) - failed} passed, {failed} failed")
    return 1 if failed else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parents[2]
    count, findings = check(root.resolve())
    print("\n".join(findings + [f"hygiene: {count} files read, {len(findings)} findings"]))
    return 1 if findings or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
