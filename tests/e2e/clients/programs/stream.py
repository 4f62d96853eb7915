"""stream.py URL: one streamed request as the OpenAI and Anthropic SDKs send it with httpx; each event is
printed as it comes."""
import os
import sys

import httpx

with httpx.Client(timeout=20) as client:
    headers = {"x-api-key": os.environ["CLIENT_KEY"], "Authorization": "Bearer " + os.environ["CLIENT_KEY"],
               "anthropic-version": "2023-06-01"}
    body = {"model": "a-model", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
    with client.stream("POST", sys.argv[1], headers=headers, json=body) as answer:
        print(answer.status_code, answer.headers.get("content-type"), answer.headers.get("x-namzu-reason"), flush=True)
        for line in answer.iter_lines():
            if line.startswith("data: "):
                print(line.rstrip(), flush=True)
        if answer.status_code != 200:
            sys.exit(1)
print("whole", flush=True)
