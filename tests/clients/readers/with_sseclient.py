"""Prints the events of a stream, one [name, data] a line, and `end` at its end: with sseclient-py over requests."""

import json
import os

import requests
import sseclient

method, body = ("POST", json.loads(os.environ["BODY"])) if "BODY" in os.environ else ("GET", None)
session = requests.Session()
session.trust_env = False
session.headers = {"Authorization": f"Bearer {os.environ['KEY']}", "Accept": "text/event-stream"}
answer = session.request(method, os.environ["URL"], json=body, stream=True, timeout=45)
answer.raise_for_status()
for event in sseclient.SSEClient(answer).events():
    print(json.dumps([event.event, json.loads(event.data)]))
print("end")
