"""The JSON Schema accepts the examples, and refuses what the gateway would refuse.

Debian: python3-jsonschema and python3-yaml. Without them the test is skipped, and says so.
"""
import copy
import json
import pathlib
import sys

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"SKIPPED: {missing}; install python3-jsonschema and python3-yaml")
    sys.exit(77)

SOURCE = pathlib.Path(sys.argv[1])


class TextLoader(yaml.SafeLoader):
    """Booleans are true and false; `off` and `no` are text, as the gateway reads them."""


TextLoader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers
            if tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:null")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
TextLoader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", __import__("re").compile("^(true|false)$"), list("tf"))

# Each is done to a copy of examples/policy.yaml, and must be refused.
BROKEN = {
    "an unknown key": lambda d: d.update(alow=[]),
    "a key of a later version": lambda d: d["gateway"].update(admin={}),
    "another version": lambda d: d.update(version=2),
    "no network": lambda d: d.update(networks={}),
    "a number that is text": lambda d: d["gateway"]["limits"].update(drain_s="30"),
    "a number past its bound": lambda d: d["gateway"]["limits"].update(drain_s=86401),
    "an unknown kind": lambda d: d["policies"]["build"].update(kind="resolver"),
    "a wildcard": lambda d: d["policies"]["build"].update(allowed_hosts=["*.example.com"]),
    "a secret in the file": lambda d: d["credentials"]["example-token"].update(value="x"),
    "two sources": lambda d: d["credentials"]["example-token"].update(
        value={"env": "A", "file": "/b"}),
    "a network without a policy": lambda d: d["networks"]["local"].pop("policy"),
    "a name that is none": lambda d: d["policies"].update({"a b": {"kind": "deny-all"}}),
}


def main():
    schema = json.loads((SOURCE / "docs/namzu-gw.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    failures = 0
    documents = {}
    for path in sorted((SOURCE / "examples").glob("*.yaml")):
        document = documents[path.name] = yaml.load(path.read_text(), TextLoader)
        if not isinstance(document, dict) or document.get("version") != 1:
            continue  # another program's example
        for error in validator.iter_errors(document):
            print(f"{path.name}: {error.json_path}: {error.message}")
            failures += 1
    for why, damage in BROKEN.items():
        document = copy.deepcopy(documents["policy.yaml"])
        damage(document)
        if validator.is_valid(document):
            print(f"accepted: {why}")
            failures += 1
    return failures != 0


sys.exit(main())
