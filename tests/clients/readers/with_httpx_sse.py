"""Prints the events of a stream, one [name, data] a line, and `end` at its end: with httpx-sse."""

import json
import os

import httpx
from httpx_sse import connect_sse

method, body = ("POST", json.loads(os.environ["BODY"])) if "BODY" in os.environ else ("GET", None)
headers = {"Authorization": f"Bearer {os.environ['KEY']}"}
with httpx.Client(headers=headers, timeout=45, trust_env=False) as client:
    with connect_sse(client, method, os.environ["URL"], json=body) as source:
        for sse in source.iter_sse():
            print(json.dumps([sse.event, sse.json()]))
print("end")
