#!/usr/bin/env python3
"""What the documents say is what the code has: reasons, closings and record fields of docs/audit.md, the version in
README.md, and every relative link.

    docs.py [ROOT]        check; prints `file: what is wrong`
    docs.py --print       the table of reasons for docs/audit.md

Exit status: 0 equal, 1 not.
"""
import pathlib
import re
import sys

REASON = re.compile(r'^GW_REASON\((\w+),\s*"([^"]+)",\s*(\d+),\s*(NULL|"[^"]+"),\s*"([^"]+)"\)', re.M)


def reason_rows(root):
    rows = ["| reason | status | Proxy-Status | what the requester is told |", "|---|---|---|---|"]
    for _, code, status, proxy_status, text in REASON.findall((root / "policy/reason_table.h").read_text()):
        shown = "" if proxy_status == "NULL" else "`" + proxy_status.strip('"') + "`"
        rows.append(f"| `{code}` | {'(audit only)' if status == '0' else status} | {shown} | {text} |")
    return rows


def check(root):
    wrong = []
    audit = (root / "docs/audit.md").read_text()
    rows = reason_rows(root)
    if len(rows) < 10:
        wrong.append("policy/reason_table.h: no reasons found")
    if "\n".join(rows) not in audit:
        missing = [row for row in rows if row not in audit]
        wrong.append("docs/audit.md: the table of reasons is not that of policy/reason_table.h (docs.py --print): "
                     + ("; ".join(missing) or "it has more, or another order"))
    for text in re.findall(r'GW_CLOSING\(\w+,\s*"([^"]+)"\)', (root / "gateway/proxy/audit.h").read_text()):
        if f"`{text}`" not in audit:
            wrong.append(f"docs/audit.md: closed: {text} is missing")
    source = (root / "gateway/proxy/audit.c").read_text()
    fields = re.findall(r'add_(?:string|number|milliseconds|address)\(&?line, "(\w+)"', source)
    fields += [name for name in re.findall(r'\\"(\w+)\\":', source)]
    if len(fields) < 20:
        wrong.append("gateway/proxy/audit.c: no fields found")
    for field in fields:
        if f"`{field}`" not in audit:
            wrong.append(f"docs/audit.md: the field {field} is missing")
    version = re.search(r"project\(namzu-gw VERSION (\S+)", (root / "CMakeLists.txt").read_text()).group(1)
    if f"Version {version}" not in (root / "README.md").read_text():
        wrong.append(f"README.md: does not speak of version {version}")
    for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists():
                wrong.append(f"{page.relative_to(root)}: a link leads nowhere: {target}")
    return wrong


def main(arguments):
    here = pathlib.Path(__file__).resolve().parents[2]
    if arguments == ["--print"]:
        print("\n".join(reason_rows(here)))
        return 0
    wrong = check(pathlib.Path(arguments[0]) if arguments else here)
    print("\n".join(wrong + [f"docs: {len(wrong)} differences"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
