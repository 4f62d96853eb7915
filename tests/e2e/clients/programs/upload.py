"""upload.py CLIENT URL: a body of unknown length, made by a generator."""
import sys


def pieces():
    for number in range(64):
        yield b"%08d" % number * 128


client, url = sys.argv[1:]
if client == "requests":
    import requests
    answer = requests.post(url, data=pieces(), timeout=20)
    print(answer.status_code, answer.text)
elif client == "httpx":
    import httpx
    answer = httpx.post(url, content=pieces(), timeout=20)
    print(answer.status_code, answer.text)
