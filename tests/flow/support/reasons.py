"""The table of reasons as the gateway's own source has it (policy/reason_table.h)."""
import pathlib
import re

_TABLE = pathlib.Path(__file__).resolve().parents[3] / "policy" / "reason_table.h"
_ROW = re.compile(r'^GW_REASON\(\w+,\s*"([^"]+)",\s*(\d+),\s*(?:"([^"]+)"|NULL),\s*"([^"]+)"\)', re.M)

# code -> (status, Proxy-Status error type or None, text)
REASONS = {code: (int(status), kind or None, text)
           for code, status, kind, text in _ROW.findall(_TABLE.read_text())}


def base(code):
    """'resolved:loopback' -> 'resolved'."""
    return code.partition(":")[0]
