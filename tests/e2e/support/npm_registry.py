"""A registry of one scoped package, as npm speaks to it: metadata, tarball, publish."""
import base64
import hashlib
import io
import json
import tarfile

from .service import Answer


def tarball():
    made = io.BytesIO()
    files = {"package/package.json": json.dumps({"name": "@acme/widget", "version": "1.0.0", "main": "index.js"}),
             "package/index.js": "module.exports = 'a widget';\n"}
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(text), 0o644
            archive.addfile(info, io.BytesIO(text.encode()))
    return made.getvalue()


class NpmRegistry:
    def __init__(self, base, logins):
        self.base, self.logins, self.tarball, self.published = base, logins, tarball(), []

    def __call__(self, request):
        if request.fields.get("Authorization") not in self.logins:
            return Answer(401, b"{}", {"Content-Type": "application/json"})
        path = request.target.partition("?")[0]
        if request.method == "PUT":
            self.published.append((request.target, json.loads(request.body)))
            return _json({"ok": True}, 201)
        if path == "/@acme%2fwidget":
            return _json(self.metadata())
        if path == "/@acme/widget/-/widget-1.0.0.tgz":
            return Answer(200, self.tarball, {"Content-Type": "application/octet-stream"})
        return _json({"error": "not found"}, 404)

    def metadata(self):
        digest = base64.b64encode(hashlib.sha512(self.tarball).digest()).decode()
        version = {"name": "@acme/widget", "version": "1.0.0", "main": "index.js",
                   "dist": {"tarball": f"{self.base}/@acme/widget/-/widget-1.0.0.tgz", "integrity": f"sha512-{digest}",
                            "shasum": hashlib.sha1(self.tarball).hexdigest()}}
        return {"_id": "@acme/widget", "name": "@acme/widget", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}


def _json(value, status=200):
    return Answer(status, json.dumps(value).encode(), {"Content-Type": "application/json"})
