"""Completes a search with the client that openapi-generator made of the document: URL KEY TYPE QUERY.

Prints the id of the run as soon as it has begun, then the run as the client's types hold it.
"""

import sys
import time

from sightline_client import (
    AccountApi,
    ApiClient,
    BatchesApi,
    BatchRequest,
    BatchSearchRequest,
    Configuration,
    ErrorCode,
    RunStatus,
    SearchesApi,
    SearchRequest,
    SearchType,
)
from sightline_client.exceptions import UnauthorizedException

url, key, kind, query = sys.argv[1:]


def client(token: str) -> ApiClient:
    return ApiClient(Configuration(host=url, access_token=token))


try:
    AccountApi(client("sl_live_" + "0" * 36)).get_credits()
    raise AssertionError("a key that does not exist is accepted")
except UnauthorizedException as refused:
    assert refused.data and refused.data.error == ErrorCode.INVALID_API_KEY, refused

batch = [BatchSearchRequest(type=SearchType.USERNAME, query=name) for name in ("octocat", "hubot")]
preview = BatchesApi(client(key)).create_batch(BatchRequest(searches=batch, dry_run=True))
assert preview.searches == 2, preview
searches = SearchesApi(client(key))
begun = searches.start_search(SearchRequest(type=SearchType(kind), query=query))
print(begun.run_id, flush=True)

deadline = time.monotonic() + 60
while (run := searches.get_search(begun.run_id)).status == RunStatus.RUNNING:
    assert time.monotonic() < deadline, run
    time.sleep(0.1)
print(run.to_json())
