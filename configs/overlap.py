"""A reranker in any language is a program like this one: it reads a line of JSON a query and answers with a line."""

import json
import sys

for line in sys.stdin:
    asked = json.loads(line)
    query = set(asked["query"].lower().split())
    scores = [len(query & set(document.lower().split())) for document in asked["documents"]]
    print(json.dumps({"id": asked["id"], "scores": scores}), flush=True)
