"""A test authority and the leaf certificates of the scripted origins, made with openssl(1)."""
import ipaddress
import os
import subprocess

OPENSSL_CONFIG = """
[ca]
default_ca = test_ca
[test_ca]
new_certs_dir = {dir}
database = {dir}/index.txt
serial = {dir}/serial
default_md = sha256
policy = anything
unique_subject = no
copy_extensions = copy
[anything]
commonName = supplied
[req]
distinguished_name = dn
prompt = no
[dn]
CN = unused
"""


class Authority:
    """One CA in a folder; leaf() makes (certificate, key) paths and remembers them."""

    def __init__(self, folder, name="namzu test CA"):
        self.dir = str(folder)
        os.makedirs(self.dir, exist_ok=True)
        self.certificate = f"{self.dir}/ca.pem"
        self._key = f"{self.dir}/ca.key"
        self._config = f"{self.dir}/openssl.cnf"
        self._leaves = {}
        with open(self._config, "w") as file:
            file.write(OPENSSL_CONFIG.format(dir=self.dir))
        open(f"{self.dir}/index.txt", "w").close()
        with open(f"{self.dir}/serial", "w") as file:
            file.write("1000\n")
        self._openssl("req", "-x509", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                      "-nodes", "-keyout", self._key, "-out", self.certificate, "-days", "30",
                      "-subj", f"/CN={name}", "-addext", "basicConstraints=critical,CA:TRUE",
                      "-addext", "keyUsage=critical,keyCertSign,cRLSign")

    def leaf(self, *names, expired=False):
        """A certificate for these names and addresses; one chain file and one key file."""
        key = (names, expired)
        if key not in self._leaves:
            self._leaves[key] = self._make_leaf(names, expired)
        return self._leaves[key]

    def self_signed(self, *names):
        """Trusted by nobody, not even by this authority."""
        stem = f"{self.dir}/self{len(self._leaves)}"
        self._openssl("req", "-x509", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                      "-nodes", "-keyout", f"{stem}.key", "-out", f"{stem}.pem", "-days", "30",
                      "-subj", f"/CN={names[0]}", "-addext", f"subjectAltName={_alternatives(names)}")
        self._leaves["self", names] = (f"{stem}.pem", f"{stem}.key")
        return self._leaves["self", names]

    def _make_leaf(self, names, expired):
        stem = f"{self.dir}/leaf{len(self._leaves)}"
        self._openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                      "-keyout", f"{stem}.key", "-out", f"{stem}.csr", "-subj", f"/CN={names[0]}",
                      "-addext", f"subjectAltName={_alternatives(names)}",
                      "-addext", "extendedKeyUsage=serverAuth")
        start, end = ("20200101000000Z", "20210101000000Z") if expired else ("20240101000000Z", "20490101000000Z")
        self._openssl("ca", "-batch", "-notext", "-config", self._config, "-cert", self.certificate,
                      "-keyfile", self._key, "-in", f"{stem}.csr", "-out", f"{stem}.pem",
                      "-startdate", start, "-enddate", end)
        return f"{stem}.pem", f"{stem}.key"

    def _openssl(self, *arguments):
        done = subprocess.run(["openssl", *arguments], capture_output=True, text=True,
                              env={**os.environ, "OPENSSL_CONF": self._config})
        if done.returncode != 0:
            raise RuntimeError(f"openssl {arguments[0]}: {done.stderr}")


def _alternatives(names):
    parts = []
    for name in names:
        try:
            ipaddress.ip_address(name)
            parts.append(f"IP:{name}")
        except ValueError:
            parts.append(f"DNS:{name}")
    return ",".join(parts)
