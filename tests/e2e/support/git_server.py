"""git http-backend (a CGI program of git itself) behind a Service."""
import os
import subprocess
from urllib import parse

from .service import Answer


class GitServer:
    """Serves the bare repositories of a folder to whoever sends one of `logins`."""

    def __init__(self, folder, logins):
        self.folder, self.logins = folder, logins

    def __call__(self, request):
        if request.fields.get("Authorization") not in self.logins:
            return Answer(401, b"who are you?\n", {"WWW-Authenticate": 'Basic realm="git"'})
        path, _, query = request.target.partition("?")
        env = {
            "PATH": "/usr/bin:/bin", "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PROJECT_ROOT": str(self.folder), "GIT_HTTP_EXPORT_ALL": "1", "REMOTE_USER": "build",
            "REQUEST_METHOD": request.method, "PATH_INFO": parse.unquote(path), "QUERY_STRING": query,
            "CONTENT_TYPE": request.fields.get("Content-Type", ""), "CONTENT_LENGTH": str(len(request.body)),
            "HTTP_CONTENT_ENCODING": request.fields.get("Content-Encoding", ""),
            "GIT_PROTOCOL": request.fields.get("Git-Protocol", ""),
        }
        done = subprocess.run(["git", "http-backend"], env=env, input=request.body, capture_output=True, timeout=30)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        status = int(fields.pop("Status", "200").split(" ")[0])
        return Answer(status if head else 500, body, fields)


def make_repository(path):
    """A bare repository with one commit that can be pushed to."""
    run = lambda *arguments: subprocess.run(  # noqa: E731
        ["git", "-c", "user.name=t", "-c", "user.email=t@clients.test", "-c", "init.defaultBranch=main", *arguments],
        check=True, capture_output=True, env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"})
    work = f"{path}.work"
    run("init", work)
    with open(os.path.join(work, "README"), "w") as file:
        file.write("hello\n")
    run("-C", work, "add", ".")
    run("-C", work, "commit", "-m", "first")
    run("clone", "--bare", work, str(path))
    run("-C", str(path), "config", "http.receivepack", "true")
