#!/usr/bin/env python3
"""One closing line a suite from what ctest ran: `flow: 312 passed, 0 failed, 2 skipped`.

    summarise-tests.py [--strict] [--require=SUITE,...] BUILD_FOLDER

The suites are the first part of the tests' names (unit/host -> unit). A program that counts its own
cases (cmocka, pytest, or a line "N passed, N failed") is counted by them, every other as one. What was skipped is
listed with its reason. With --strict a skip that scripts/expected-skips.txt does not name is a
failure: a test that silently cannot run tests nothing; and so is a required suite of which nothing
passed. Exit status: 0, or 1.
"""
import pathlib
import re
import sys

TEST = re.compile(r"^\d+/\d+ Testing: (.+)$")
PYTEST = re.compile(r"^(?:=+ )?((?:\d+ \w+(?:, )?)+)(?: in [\d.]+s.*)$")
PLAIN = re.compile(r"^(?:[\w-]+: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")
CMOCKA = re.compile(r"^\[  (PASSED|FAILED|SKIPPED) +\] (\d+) test\(s\)")
ENDINGS = {"Passed": "passed", "Failed": "failed", "Timeout": "failed", "Skipped": "skipped", "Not Run": "failed"}


def blocks(text):
    """(name, output, ending) of each test in ctest's LastTest.log."""
    name, lines = None, []
    for line in text.splitlines():
        match = TEST.match(line)
        if match:
            name, lines = match.group(1).strip(), []
        elif name is not None and re.match(r"^Test (Passed|Failed|Skipped|Timeout|Not Run)|^Test time =", line):
            if line.startswith("Test time ="):
                continue
            ending = next((e for e in ENDINGS if line.startswith("Test " + e)), "Failed")
            yield name, lines, ending
            name = None
        elif name is not None:
            lines.append(line)
    if name is not None:
        yield name, lines, "Failed"


def count(lines, ending):
    """(passed, failed, skipped, reasons) of one ctest test."""
    passed = failed = skipped = 0
    reasons = []
    for line in lines:
        match = PYTEST.match(line)
        if match:
            for number, word in re.findall(r"(\d+) (\w+)", match.group(1)):
                passed += int(number) if word in ("passed", "xfailed") else 0
                failed += int(number) if word in ("failed", "error", "errors", "xpassed") else 0
                skipped += int(number) if word == "skipped" else 0
        match = PLAIN.match(line)
        if match:
            passed, failed = passed + int(match.group(1)), failed + int(match.group(2))
            skipped += int(match.group(3) or 0)
        match = CMOCKA.match(line)
        if match:
            number = int(match.group(2))
            passed += number if match.group(1) == "PASSED" else 0
            failed += number if match.group(1) == "FAILED" else 0
            skipped += number if match.group(1) == "SKIPPED" else 0
        if re.match(r"^SKIPPED \[\d+\]|^\[  SKIPPED \] (?!\d)|^SKIP(PED)?: ", line):
            reasons.append(re.sub(r"^(SKIPPED \[\d+\]) \S*?(\w+\.py:\d+: )", r"\1 \2", line))
    kind = ENDINGS[ending]
    if kind == "failed" and failed == 0:
        failed = 1
    if kind == "skipped" and skipped == 0:
        skipped = 1
    if passed + failed + skipped == 0:
        passed = 1
    return passed, failed, skipped, reasons


def expected_skips(root):
    """(pattern, reason) of the skips that are known."""
    path = root / "scripts" / "expected-skips.txt"
    rows = [line.split("\t") for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    return [(re.compile(row[0]), row[-1]) for row in rows]


def main(arguments):
    strict = "--strict" in arguments
    required = [name for a in arguments if a.startswith("--require=") for name in a[len("--require="):].split(",") if name]
    folders = [a for a in arguments if not a.startswith("--")]
    if len(folders) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(__file__).resolve().parents[1]
    log = pathlib.Path(folders[0]) / "Testing" / "Temporary" / "LastTest.log"
    if not log.exists():
        print("summary: no test has run", file=sys.stderr)
        return 1
    suites, skips, unexpected, failures = {}, [], [], []
    known = expected_skips(root)
    for name, lines, ending in blocks(log.read_text(errors="replace")):
        passed, failed, skipped, reasons = count(lines, ending)
        suite = suites.setdefault(name.split("/")[0], [0, 0, 0])
        for i, number in enumerate((passed, failed, skipped)):
            suite[i] += number
        if failed:
            failures.append(name)
        if skipped:
            skips.append(f"{name}: {skipped} skipped: " + ("; ".join(reasons) or "no reason given"))
            unexpected += [f"{name}: {reason}" for reason in reasons or ["no reason given"]
                           if not any(pattern.search(f"{name}: {reason}") for pattern, _ in known)]
    print()
    for text in skips:
        print(f"SKIPPED  {text}")
    for name in failures:
        print(f"FAILED   {name}")
    for suite, (passed, failed, skipped) in sorted(suites.items()):
        print(f"{suite}: {passed} passed, {failed} failed, {skipped} skipped")
    if not suites:
        print("summary: no test has run", file=sys.stderr)
        return 1
    absent = [name for name in required if suites.get(name, [0])[0] == 0]
    if absent:
        print("summary: nothing ran of: " + ", ".join(absent))
        return 1
    if strict and unexpected:
        print("These tests should have run here; a skip that is right belongs into scripts/expected-skips.txt:")
        print("\n".join("  " + text for text in unexpected))
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
