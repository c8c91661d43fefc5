"""What the document cannot say, for Schemathesis: which domains have a registrable part, which modules there are."""

import json
import os
import re
import urllib.request
import uuid
import zlib

import schemathesis
from hypothesis import strategies as st
from schemathesis import GenerationMode

KEY_HEADER = "Idempotency-Key"
# The form of such a key in the document, without additions.
KEY = re.compile(r"[!-~]([ -~]{0,200}[!-~])?")
SUFFIXES = ["com", "org", "de", "co.uk", "com.br", "xn--p1ai"]

label = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,12}[a-z0-9])?", fullmatch=True).filter(lambda text: text[2:4] != "--")
domain = st.builds(
    lambda labels, suffix: ".".join([*labels, suffix]),
    st.lists(label, min_size=1, max_size=3),
    st.sampled_from(SUFFIXES),
)
local = st.from_regex(r"[a-z0-9!#$%&'*+/=?^_`{|}~-]{1,20}(\.[a-z0-9]{1,20})?", fullmatch=True)
schemathesis.openapi.format("domain", domain)
schemathesis.openapi.format("email", st.builds("{}@{}".format, local, domain))


def catalogue():
    request = urllib.request.Request(os.environ["SIGHTLINE_URL"] + "/v1/modules")
    request.add_header("X-API-Key", os.environ["SIGHTLINE_KEY"])
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["modules"]


class Choice:
    """Modules of one type that every search of it can ask, whatever its switches: some to name, some to exclude."""

    def __init__(self, modules):
        always = [m for m in modules if m["enabled"] and m["contact"] == "third_party"]
        always = [m for m in always if not (m["premium"] or m["nsfw"] or m["needs"] or m["discovery"])]
        self.asked = {m["id"]: m["category"] for m in always[::2]}
        self.excluded = [m["id"] for m in always[1::2]]

    def mend(self, body):
        """Puts real names in the place of made-up ones, so that a module is left to ask."""
        for field, names in [("modules", list(self.asked)), ("exclude_modules", self.excluded)]:
            if body.get(field):
                body[field] = [pick(names, name) for name in body[field]]
        if body.get("categories"):
            known = sorted({self.asked[name] for name in body.get("modules") or self.asked})
            body["categories"] = [pick(known, name) for name in body["categories"]]


def pick(names, name):
    return names[zlib.crc32(name.encode()) % len(names)]


MODULES = catalogue()
CHOICES = {kind: Choice([m for m in MODULES if m["type"] == kind]) for kind in ("domain", "email", "username")}


@schemathesis.serializer("text/csv")
def csv(context, value):
    """A file of searches for any text: no schema says what is CSV."""
    is_file = value is not None and not isinstance(value, (dict, list, int, float))
    return b"type,query\nusername,octocat\n" if is_file else b"\xff"


# The document says in words only which texts are queries of a type.
QUERIES = {
    "domain": ["example.com", "www.example.co.uk"],
    "email": ["name+tag@example.com", "first.last@example.org"],
    "username": ["octocat", "ada.lovelace", "some_one-else"],
}


@schemathesis.hook
def before_call(context, case, kwargs):
    for name, value in (case.headers or {}).items():
        # A connection with a head beyond ASCII is closed without an answer (tests/http/hostile_cases.rs): no case for
        # a tool that reads answers. A tab inside of a value is as wrong where a value has a rule.
        if isinstance(value, str) and not value.isascii():
            case.headers[name] = re.sub("[^\x00-\x7f]", "x\tx", value)
    key = (case.headers or {}).get(KEY_HEADER)
    # The same key with another body is refused, rightly: each request that begins a run has its own.
    if isinstance(key, str) and KEY.fullmatch(key):
        case.headers[KEY_HEADER] = f"{key}-{uuid.uuid4()}"
    if case.meta.generation.mode is not GenerationMode.POSITIVE and case.path == "/v1/batches":
        # A dry run tells invalid searches and is no error.
        for part in (case.query, case.body):
            if isinstance(part, dict) and part.get("dry_run") in (True, "true"):
                del part["dry_run"]
    if case.meta.generation.mode is not GenerationMode.POSITIVE or not isinstance(case.body, dict):
        return
    if case.path.startswith("/v1/webhooks"):
        # No pattern says which texts are addresses.
        if isinstance(case.body.get("url"), str):
            case.body["url"] = "https://hooks.example.com/in"
    else:
        # A made-up id is of no webhook.
        if case.body.get("webhook_id"):
            case.body["webhook_id"] = None
        if isinstance(case.body.get("tags"), list):
            case.body["tags"] = [pick(["case-7", "open"], tag) for tag in case.body["tags"]]
        for search in case.body.get("searches", [case.body]):
            # Other bodies have no query.
            if "type" in search:
                choice = CHOICES[search["type"]]
                # The runs of watches and batches go on behind the requests: few modules keep them short.
                if case.path != "/v1/searches":
                    search.update(modules=search.get("modules") or list(choice.asked)[:1], categories=None)
                choice.mend(search)
                if search["type"] != "username":
                    search.pop("variants", None)
                search["query"] = pick(QUERIES[search["type"]], search["query"])
        if case.path == "/v1/variants":
            # It is either the names of a person or a username.
            case.body = {"first": "Ada", "last": "Lovelace"} if case.body.get("first") else {"username": "octocat"}


# The error responses of the document.
RESPONSES = {}


@schemathesis.hook
def before_load_schema(context, raw_schema):
    RESPONSES.update(raw_schema["components"]["responses"])


@schemathesis.check
def code_is_documented(context, response, case):
    """The code of an error is one of those that its response names. Answers to other methods are in no operation."""
    reference = case.operation.definition.raw["responses"].get(str(response.status_code), {}).get("$ref", "")
    if response.status_code >= 400 and reference and response.content:
        named = RESPONSES[reference.rpartition("/")[2]]["description"]
        assert f"`{response.json()['error']}`:" in named, response.json()
