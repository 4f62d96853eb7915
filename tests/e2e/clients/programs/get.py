"""get.py CLIENT URL...: fetches each URL and prints one JSON line for it. The proxy and the CA come
from the environment; the key is the sandbox's placeholder."""
import asyncio
import json
import os
import sys

HEADERS = {"Authorization": "Bearer " + os.environ["CLIENT_KEY"]}


def tell(status, headers, body):
    print(json.dumps({"status": status, "reason": headers.get("X-Namzu-Reason"), "body": body}))


def failed(error):
    print(json.dumps({"error": f"{type(error).__name__}: {error}"}))


def urllib(urls):
    from urllib import error, request
    for url in urls:
        try:
            with request.urlopen(request.Request(url, headers=HEADERS), timeout=20) as answer:
                tell(answer.status, answer.headers, answer.read().decode())
        except error.HTTPError as answer:
            tell(answer.code, answer.headers, answer.read().decode())
        except OSError as problem:
            failed(problem)


def requests(urls):
    import requests as library
    with library.Session() as session:
        for url in urls:
            try:
                answer = session.get(url, headers=HEADERS, timeout=20)
                tell(answer.status_code, answer.headers, answer.text)
            except library.RequestException as problem:
                failed(problem)


def httpx(urls):
    import httpx as library
    with library.Client(timeout=20) as client:
        for url in urls:
            try:
                answer = client.get(url, headers=HEADERS)
                tell(answer.status_code, answer.headers, answer.text)
            except library.HTTPError as problem:
                failed(problem)


def aiohttp(urls):
    import aiohttp as library

    async def fetch():
        async with library.ClientSession(trust_env=True, headers=HEADERS) as session:
            for url in urls:
                try:
                    async with session.get(url) as answer:
                        tell(answer.status, answer.headers, await answer.text())
                except library.ClientError as problem:
                    failed(problem)
    asyncio.run(fetch())


globals()[sys.argv[1]](sys.argv[2:])
