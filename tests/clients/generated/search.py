"""Completes a search with the client that openapi-python-client made of the document: URL KEY TYPE QUERY.

Prints the id of the run as soon as it has begun, then the run as the client's types hold it.
"""

import io
import json
import sys
import time

from sightline_client.api.account import get_credits
from sightline_client.api.batches import create_batch
from sightline_client.api.searches import get_search, start_search
from sightline_client.client import AuthenticatedClient
from sightline_client.models import (
    ApiError,
    BatchPreview,
    DomainSearch,
    DomainSearchType,
    EmailSearch,
    EmailSearchType,
    ErrorCode,
    Run,
    RunStatus,
    SearchAnswer,
    SearchType,
    UsernameSearch,
    UsernameSearchType,
)
from sightline_client.types import File

url, key, kind, query = sys.argv[1:]


def body() -> DomainSearch | EmailSearch | UsernameSearch:
    if kind == "domain":
        return DomainSearch(type_=DomainSearchType.DOMAIN, query=query)
    if kind == "email":
        return EmailSearch(type_=EmailSearchType.EMAIL, query=query)
    return UsernameSearch(type_=UsernameSearchType.USERNAME, query=query)


stranger = AuthenticatedClient(base_url=url, token="sl_live_" + "0" * 36)
refused = get_credits.sync(client=stranger)
assert isinstance(refused, ApiError) and refused.error == ErrorCode.INVALID_API_KEY, refused

client = AuthenticatedClient(base_url=url, token=key, raise_on_unexpected_status=True)
table = File(payload=io.BytesIO(b"octocat\nhubot\n"))
preview = create_batch.sync(client=client, body=table, type_=SearchType.USERNAME, dry_run=True)
assert isinstance(preview, BatchPreview) and preview.searches == 2, preview
begun = start_search.sync(client=client, body=body())
assert isinstance(begun, SearchAnswer), begun
print(begun.run_id, flush=True)

deadline = time.monotonic() + 60
while True:
    run = get_search.sync(begun.run_id, client=client)
    assert isinstance(run, Run), run
    if run.status != RunStatus.RUNNING:
        break
    assert time.monotonic() < deadline, run
    time.sleep(0.1)
print(json.dumps(run.to_dict()))
