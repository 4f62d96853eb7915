"""apt against a small repository, with a private root: the system's apt state is neither read nor written."""
import base64
import hashlib
import os

import pytest
from e2e.support import programs
from e2e.support.deb_repository import DebRepository
from e2e.support.scene import BASIC

NAMES = [f"acme-{number}" for number in range(8)]
OWN = "Basic " + base64.b64encode(b"client:own-password").decode()


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    programs.command("dpkg-deb")
    return DebRepository(tmp_path_factory.mktemp("deb"), NAMES, (BASIC, OWN))


class Apt:
    def __init__(self, sandbox, base, extra=""):
        self.sandbox, self.root = sandbox, sandbox.home / "apt"
        for folder in ("lists/partial", "archives/partial", "etc/auth.d"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "status").write_text("")
        (self.root / "sources.list").write_text(f"deb [trusted=yes arch=all] {base}/debian stable main\n")
        # Nothing of the system's configuration is read: APT_CONFIG comes first, and says where the rest is.
        (self.root / "apt.conf").write_text(f"""
Dir::Etc "{self.root}/etc"; Dir::Etc::parts "/dev/null"; Dir::Etc::main "/dev/null";
Dir::Etc::sourcelist "{self.root}/sources.list"; Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null"; Dir::Etc::preferencesparts "/dev/null";
Dir::Etc::trusted "/dev/null"; Dir::Etc::trustedparts "/dev/null";
Dir::Etc::netrc "{self.root}/auth.conf"; Dir::Etc::netrcparts "{self.root}/etc/auth.d";
Dir::State "{self.root}"; Dir::State::lists "{self.root}/lists"; Dir::State::status "{self.root}/status";
Dir::State::extended_states "{self.root}/extended_states";
Dir::Cache "{self.root}"; Dir::Cache::archives "{self.root}/archives"; Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";
Dir::Log "{self.root}";
APT::Sandbox::User ""; Acquire::Languages "none"; Acquire::Retries "0"; Debug::NoLocking "true";
Acquire::https::CAInfo "{sandbox.ca}";
{extra}
""")
        self.env = sandbox.environment(APT_CONFIG=str(self.root / "apt.conf"), DEBIAN_FRONTEND="noninteractive")

    def __call__(self, *arguments):
        return self.sandbox.run(programs.command("apt-get"), *arguments, env=self.env)

    def login(self, base):
        """https:// only: the gateway has no part in it."""
        path = self.root / "auth.conf"
        path.write_text(f"machine {base} login client password own-password\n")
        path.chmod(0o600)

    def fetched(self):
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (self.root / "archives").glob("*.deb")}


def wanted(repository):
    return {path.rpartition("/")[2]: hashlib.sha256(data).hexdigest()
            for path, data in repository.files.items() if path.endswith(".deb")}


@pytest.mark.parametrize("scheme,depth", (("http", 0), ("http", 5), ("https", 5)))
def test_update_and_fetch(scheme, depth, scene, gateway, tap, sandbox, repository):
    scene.deb.answer = repository
    base = scene.deb.url(scheme)
    apt = Apt(sandbox, base, f'Acquire::http::Pipeline-Depth "{depth}"; Acquire::https::Pipeline-Depth "{depth}";')
    if scheme == "https":
        apt.login(base)
    ran = apt("update")
    assert ran.code == 0 and "Err:" not in ran.out, ran
    ran = apt("install", "--download-only", "-y", *NAMES)
    assert ran.code == 0, ran
    assert apt.fetched() == wanted(repository)
    verb = "CONNECT " if scheme == "https" else f"GET http://{scene.deb.name}:"
    assert all(line.startswith((verb, "GET /")) for line in tap.first_lines()), tap.first_lines()
    logins = {seen.field("Authorization") for seen in scene.deb.requests}
    assert logins == {BASIC} if scheme == "http" else OWN in logins and BASIC not in logins


def test_resumed_download(scene, gateway, tap, sandbox, repository):
    """A part is there already: Range and If-Range go up, 206 comes back."""
    scene.deb.answer = repository
    apt = Apt(sandbox, scene.deb.url("http"))
    assert apt("update").code == 0
    name = f"{NAMES[0]}_1.0_all.deb"
    part = apt.root / "archives" / "partial" / name
    part.write_bytes(repository.files[f"/debian/pool/{name}"][:10_000])
    os.utime(part, (1796000000, 1796000000))
    ran = apt("install", "--download-only", "-y", NAMES[0])
    assert ran.code == 0, ran
    assert apt.fetched() == {name: wanted(repository)[name]}
    assert [seen.field("Range") for seen in scene.deb.requests if seen.target.endswith(".deb")] == ["bytes=10000-"]
    assert [seen for seen in scene.deb.requests if seen.fields.get("If-Range")]


@pytest.mark.parametrize("scheme", ("http", "https"))
def test_refused_host(scheme, scene, gateway, tap, sandbox, repository):
    apt = Apt(sandbox, scene.refused.url(scheme))
    ran = apt("-o", "APT::Update::Error-Mode=any", "update")
    assert ran.code != 0 and "403" in ran.err, ran
    assert scene.refused.accepted == 0
