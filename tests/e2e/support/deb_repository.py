"""A small unsigned Debian repository, built with dpkg-deb and served by a Service."""
import gzip
import hashlib
import subprocess

from .service import Answer


class DebRepository:
    """pool/NAME_1.0_all.deb for each name; ranges and If-Range as a file server has them."""

    def __init__(self, folder, names, login, size=40_000):
        self.login, self.files = login, {}
        packages = []
        for name in names:
            root = folder / name
            (root / "DEBIAN").mkdir(parents=True)
            control = (f"Package: {name}\nVersion: 1.0\nArchitecture: all\nMaintainer: T <t@clients.test>\n"
                       f"Description: test package\n")
            (root / "DEBIAN" / "control").write_text(control)
            (root / "usr" / "share" / name).mkdir(parents=True)
            content = b"".join(hashlib.sha512(f"{name} {n}".encode()).digest() for n in range(size // 64))
            (root / "usr" / "share" / name / "data").write_bytes(content)
            deb = folder / f"{name}_1.0_all.deb"
            subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", str(root), str(deb)], check=True, capture_output=True)
            data = deb.read_bytes()
            self.files[f"/debian/pool/{deb.name}"] = data
            packages.append(f"{control}Filename: pool/{deb.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n")
        index = "\n".join(packages).encode()
        made = {"main/binary-all/Packages": index, "main/binary-all/Packages.gz": gzip.compress(index)}
        release = ("Origin: test\nSuite: stable\nCodename: stable\nArchitectures: all\nComponents: main\n"
                   "Date: Mon, 30 Nov 2026 00:00:00 UTC\nSHA256:\n"
                   + "".join(f" {hashlib.sha256(data).hexdigest()} {len(data)} {name}\n" for name, data in made.items()))
        self.files["/debian/dists/stable/Release"] = release.encode()
        for name, data in made.items():
            self.files[f"/debian/dists/stable/{name}"] = data

    def __call__(self, request):
        if request.fields.get("Authorization") not in self.login:
            return Answer(401, b"who are you?\n", {"WWW-Authenticate": 'Basic realm="deb"'})
        data = self.files.get(request.target)
        if data is None:
            return Answer(404, b"not here\n")
        fields = {"Last-Modified": "Mon, 30 Nov 2026 00:00:00 GMT", "Content-Type": "application/octet-stream",
                  "Accept-Ranges": "bytes"}
        wanted = request.fields.get("Range")
        if wanted is not None:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(data):
                return Answer(416, b"", {**fields, "Content-Range": f"bytes */{len(data)}"})
            return Answer(206, data[start:], {**fields, "Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"})
        return Answer(200, data, fields)
