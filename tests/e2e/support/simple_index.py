"""A Python package index (PEP 503) of one wheel."""
import base64
import hashlib
import io
import zipfile

from .service import Answer

WHEEL = "acme_widget-1.0-py3-none-any.whl"


def wheel():
    files = {
        "acme_widget/__init__.py": "TEXT = 'a widget'\n",
        "acme_widget-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: acme-widget\nVersion: 1.0\n",
        "acme_widget-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},"
                     f"{len(text)}\n" for name, text in files.items())
    files["acme_widget-1.0.dist-info/RECORD"] = record + "acme_widget-1.0.dist-info/RECORD,,\n"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return made.getvalue()


class SimpleIndex:
    def __init__(self, logins):
        self.logins, self.wheel = logins, wheel()

    def __call__(self, request):
        if request.fields.get("Authorization") not in self.logins:
            return Answer(401, b"who are you?\n", {"WWW-Authenticate": 'Basic realm="index"'})
        if request.target == "/simple/acme-widget/":
            link = f'<a href="../../files/{WHEEL}#sha256={hashlib.sha256(self.wheel).hexdigest()}">{WHEEL}</a>'
            return Answer(200, f"<!DOCTYPE html><html><body>{link}</body></html>".encode(), {"Content-Type": "text/html"})
        if request.target == f"/files/{WHEEL}":
            return Answer(200, self.wheel, {"Content-Type": "application/octet-stream"})
        return Answer(404, b"not here\n")
