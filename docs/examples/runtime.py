"""A runtime that follows its agent's knowledge. Needs Python 3.9 and httpx (pip install httpx). Beside `npm start`:

python3 docs/examples/runtime.py
"""

import hashlib
import json
import os
import signal
import time

import httpx

URL = os.environ.get("KNOWLEDGE_URL", "http://127.0.0.1:4000/graphql")
# A real runtime has a key of its own, which only reads.
KEY_FILE = os.environ.get("KNOWLEDGE_KEY_FILE", ".data/admin-key")
AGENT = os.environ.get("KNOWLEDGE_AGENT", "intake_triage")
ENVIRONMENT = os.environ.get("KNOWLEDGE_ENVIRONMENT")  # Left out: the server's default one.

ACTIVE_VERSION = """query ($agentKey: String!, $environment: String, $seen: Int) {
  activeVersion(agentKey: $agentKey, environment: $environment, minGeneration: $seen) {
    knowledgeVersion checksum generation files { relativePath checksum content } } }"""
PACKAGE_CHANGED = """subscription ($agentKey: String, $environment: String) {
  packageChanged(agentKey: $agentKey, environment: $environment) { kind knowledgeVersion sequence } }"""


class Refused(Exception):
    """An answer that refuses; `code` says why in one stable word."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error["extensions"]["code"]


def give(version):
    """Where your model gets its knowledge: the files in this order, as they are."""
    prompt = "\n".join(file["content"] for file in version["files"])
    name, checksum = version["knowledgeVersion"], version["checksum"]
    print(f"The model gets {name} ({checksum[:12]}…), {len(prompt)} characters:")
    for file in version["files"]:
        print(f"  {file['relativePath']}")


def check(version):
    """Every file must be the one that was captured, and the bundle exactly these files in this order."""
    sums = ""
    damaged = False
    for file in version["files"]:
        checksum = sha256(file["content"])
        damaged = damaged or checksum != file["checksum"]
        sums += f"{checksum}  {file['relativePath']}\n"
    if damaged or sha256(sums) != version["checksum"]:
        raise ValueError(f"{version['knowledgeVersion']} arrived damaged")


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def data_of(answer):
    if answer.get("errors"):
        raise Refused(answer["errors"][0])
    return answer["data"]


class Runtime:
    def __init__(self, client):
        self.client = client
        self.copy = None  # What the agent runs on; without one it must not run.
        self.confirmed_at = 0.0  # When the copy was last known to be the active version.
        self.last_event_id = None  # Where in the log this runtime is.

    def request(self, query, headers=None):
        with open(KEY_FILE, encoding="utf-8") as file:
            headers = {"authorization": f"Bearer {file.read().strip()}", **(headers or {})}
        seen = self.copy and self.copy["generation"]
        variables = {"agentKey": AGENT, "environment": ENVIRONMENT, "seen": seen}
        return {"method": "POST", "url": URL, "headers": headers, "json": {"query": query, "variables": variables}}

    def read(self):
        """Reads the active version; the one before stays in use until the new one has been checked."""
        version = data_of(self.client.request(**self.request(ACTIVE_VERSION)).json())["activeVersion"]
        check(version)
        if self.copy is None or version["checksum"] != self.copy["checksum"]:
            give(version)
        self.copy, self.confirmed_at = version, time.time()

    def follow(self):
        """Follows the changes until the connection ends. Subscribes first and reads then, so that nothing falls between."""
        headers = {"accept": "text/event-stream"}
        if self.last_event_id:
            headers["last-event-id"] = self.last_event_id
        # The server says something every 15 seconds.
        request = {**self.request(PACKAGE_CHANGED, headers), "timeout": httpx.Timeout(10, read=45)}
        with self.client.stream(**request) as response:
            if not response.headers.get("content-type", "").startswith("text/event-stream"):
                data_of(json.loads(response.read()))
            if response.is_success:  # Else the stream says why in its first event.
                self.read()
            for line in response.iter_lines():
                self.confirmed_at = time.time()
                self.take(line.rstrip("\n"))
        raise ConnectionError("The server ended the stream")

    def take(self, line):
        """An event is lines `id: …`, `event: …`, `data: …`; a sign of life has at most an id."""
        name, _, value = line.partition(": ")
        if name == "data" and value:
            print("Changed:", json.dumps(data_of(json.loads(value))["packageChanged"]))
            self.read()
        if name == "id":
            self.last_event_id = value

    def explain(self, error):
        """Keeps the copy, unless the server has said that there is nothing to run on."""
        code = getattr(error, "code", None)
        if code == "RESET":  # The log cannot go on from there: begin anew.
            self.last_event_id = None
        if code in ("NOT_FOUND", "UNAUTHENTICATED", "FORBIDDEN"):
            self.copy = None
        if self.copy:
            age = round(time.time() - self.confirmed_at)
            print(f"{self.copy['knowledgeVersion']} stays in use, current {age} s ago: {error}")
        else:
            print(f"Do not run the agent: {error}")


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with httpx.Client(timeout=30) as client:
        runtime, failures = Runtime(client), 0
        while True:
            heard_before = runtime.confirmed_at
            try:
                runtime.follow()
            except (Refused, httpx.HTTPError, OSError, ValueError) as error:
                runtime.explain(error)
            failures = 0 if runtime.confirmed_at > heard_before else failures + 1
            time.sleep(min(2**failures, 30))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
