#!/usr/bin/env python3
"""Loses the answer to a Book, and recovers the booking.

It needs Python 3.11 and its standard library. It drives a sandbox through the control API
under /_sandbox/, and is its client, and receives its webhooks. README.md lists the
environment variables.
"""

import hashlib
import hmac
import http.client
import http.server
import json
import os
import queue
import ssl
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

BASE = os.environ["HOTELSTAYS_BASE_URL"].rstrip("/")
APP_KEY = os.environ.get("HOTELSTAYS_APP_KEY", "sandbox-app-key")
APP_SECRET = os.environ.get("HOTELSTAYS_APP_SECRET", "sandbox-app-secret")
WEBHOOK_SECRET = os.environ.get("HOTELSTAYS_WEBHOOK_SECRET", "sandbox-webhook-secret")
CONTROL_TOKEN = os.environ.get("HOTELSTAYS_CONTROL_TOKEN", "")
CALLBACK_HOST = os.environ.get("HOTELSTAYS_CALLBACK_HOST", "127.0.0.1")
CA = os.environ.get("HOTELSTAYS_SANDBOX_CA")
TLS = ssl.create_default_context(cafile=CA) if CA else None


def request(method, path, body=None, headers=None):
    """Returns the JSON of an answer and its headers. An error of HTTP raises."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **(headers or {})}
    req = urllib.request.Request(BASE + path, data, headers, method=method)
    with urllib.request.urlopen(req, timeout=30, context=TLS) as answer:
        text = answer.read()
        return json.loads(text) if text else None, answer.headers


def control(method, path, body=None):
    """Calls the control API."""
    headers = {"Authorization": "Bearer " + CONTROL_TOKEN} if CONTROL_TOKEN else {}
    return request(method, "/_sandbox" + path, body, headers)[0]


class Client:
    """Calls the Hotel Stays API with a ticket."""

    def __init__(self):
        self.headers = {}
        ticket = self.call("/api/auth/ticket", {"appKey": APP_KEY, "appSecret": APP_SECRET})
        self.headers["Authorization"] = "Bearer " + ticket["ticket"]

    def call(self, path, body, **headers):
        envelope, answered = request("POST", path, body, self.headers | headers)
        if envelope["code"] != 0:
            raise RuntimeError(f"{path}: {envelope['code']} {envelope['msg']}")
        self.session = answered.get("Session-Id")
        return envelope["data"]


class Receiver(http.server.BaseHTTPRequestHandler):
    """Receives webhooks, checks their signatures and puts them into a queue."""

    events = queue.Queue()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        signature = dict(part.split("=", 1) for part in self.headers["X-Platform-Signature"].split(","))
        signed = hmac.new(WEBHOOK_SECRET.encode(), signature["t"].encode() + b"." + body, hashlib.sha256).hexdigest()
        good = hmac.compare_digest(signed, signature["v1"]) and abs(time.time() - int(signature["t"])) < 300
        if good:  # before the answer, so that after it the event is there
            Receiver.events.put((self.headers["X-Platform-Event-Id"], json.loads(body)))
        self.send_response(204 if good else 401)
        self.end_headers()

    def log_message(self, *_):
        pass


def start_receiver():
    address = "127.0.0.1" if CALLBACK_HOST in ("127.0.0.1", "localhost") else ""
    server = http.server.ThreadingHTTPServer((address, 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://{CALLBACK_HOST}:{server.server_address[1]}/events"


def wait_for_sandbox():
    for _ in range(100):
        try:
            return request("GET", "/healthz")
        except (OSError, http.client.HTTPException):
            time.sleep(0.2)
    sys.exit(f"{BASE} does not answer")


def find_offer(client):
    city = control("GET", "/catalog?limit=1")["cities"][0]
    found = client.call("/api/search/hotelList", {
        "destinationId": city["id"], "checkIn": "2040-03-12", "checkOut": "2040-03-15",
        "roomOccupancies": [{"adultCount": 2}],
    })
    return found["list"][0]["rooms"][0]["rates"][0]["ratePkgId"], client.session


def book(client, reference, callback):
    offer, session = find_offer(client)
    guest = {"roomIndex": 1, "firstName": "Guest", "lastName": reference}
    return client.call("/api/trade/book", {
        "customerReferenceNo": reference, "ratePkgId": offer, "callbackUrl": callback,
        "holder": {"firstName": "Guest", "lastName": "One"}, "guests": [guest],
    }, **{"Session-Id": session})


def recover(client, reference):
    """Polls until the order appears. The clock moves on between two polls."""
    for poll in range(1, 11):
        orders = client.call("/api/trade/queryOrders", {"customerReferenceNos": [reference]})["orders"]
        print(f"  poll {poll}: {len(orders)} orders")
        if orders:
            return orders[0]
        control("POST", "/clock", {"advance": "20s"})
    sys.exit("the order does not appear")


def main():
    wait_for_sandbox()
    callback, reference = start_receiver(), "python-" + uuid.uuid4().hex[:12]
    client = Client()
    before = control("GET", "/ledger")

    print("1. The answer to the next Book will be lost.")
    control("POST", "/faults", {"operation": "Book", "kind": "cut", "commit": True})
    try:
        book(client, reference, callback)
        sys.exit("Book was answered")
    except (OSError, http.client.HTTPException) as error:
        print(f"  Book: {type(error).__name__}. The order may exist.")

    print("2. Polling for the order.")
    order = recover(client, reference)
    print(f"  found {order['platformReferenceNo']}")

    print("3. Five minutes later the hotel has confirmed.")
    control("POST", "/clock", {"advance": "5m"})
    first_id, first = Receiver.events.get(timeout=30)
    print(f"  received {first['event']}, signature correct")
    assert first["customerReferenceNo"] == reference, first

    print("4. The first webhook again.")
    seen = {first_id}
    while not Receiver.events.empty():
        seen.add(Receiver.events.get()[0])
    control("POST", f"/webhooks/{first_id}/redeliver", {})
    again_id, again = Receiver.events.get(timeout=30)
    assert again_id in seen and again["event"] == first["event"], (again_id, again)
    print(f"  received {again['event']} with the same event id")

    print("5. The ledger.")
    after = control("GET", "/ledger")
    booked = after["counts"]["Book"] - before["counts"].get("Book", 0)
    made = after["orders"] - before["orders"]
    print(f"  {booked} Book, {made} order")
    assert (booked, made) == (1, 1), after


if __name__ == "__main__":
    main()
