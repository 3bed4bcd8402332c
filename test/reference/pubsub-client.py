"""Drives a Pub/Sub server with Google's Python client: a second reading of the wire, made by others than the Node client.

    python3 -m venv .venv && .venv/bin/pip install -r test/reference/requirements.txt
    PUBSUB_EMULATOR_HOST=127.0.0.1:8085 .venv/bin/python test/reference/pubsub-client.py [project]

The project is "local" unless another is given. Prints "ok <step>" for each step; the first that fails ends it with a traceback
and exit code 1. Needs nothing on the server, and leaves a few topics there.
"""

import os
import queue
import sys
import uuid

from google.api_core import exceptions
from google.cloud import pubsub_v1
from google.cloud.pubsub_v1.subscriber.exceptions import AcknowledgeError, AcknowledgeStatus

PROJECT = sys.argv[1] if len(sys.argv) > 1 else "local"
PATIENCE_SECONDS = 60

publisher = pubsub_v1.PublisherClient()
ordered_publisher = pubsub_v1.PublisherClient(
    publisher_options=pubsub_v1.types.PublisherOptions(enable_message_ordering=True)
)
subscriber = pubsub_v1.SubscriberClient()


class Queue:
    """A topic with a subscription to it."""

    def __init__(self, **settings):
        name = f"reference-{uuid.uuid4()}"
        self.topic = publisher.topic_path(PROJECT, name)
        self.subscription = subscriber.subscription_path(PROJECT, name)
        publisher.create_topic(request={"name": self.topic})
        subscriber.create_subscription(request={"name": self.subscription, "topic": self.topic, **settings})

    def send(self, data, client=publisher, **attributes):
        return client.publish(self.topic, data, **attributes).result(PATIENCE_SECONDS)

    def look(self):
        request = {"subscription": self.subscription, "max_messages": 10, "return_immediately": True}
        return list(subscriber.pull(request=request).received_messages)

    def one(self):
        request = {"subscription": self.subscription, "max_messages": 1}
        while True:
            messages = subscriber.pull(request=request, timeout=PATIENCE_SECONDS).received_messages
            if messages:
                return messages[0]

    def ack(self, *ack_ids):
        subscriber.acknowledge(request={"subscription": self.subscription, "ack_ids": ack_ids})

    def modify(self, seconds, *ack_ids):
        subscriber.modify_ack_deadline(
            request={"subscription": self.subscription, "ack_ids": ack_ids, "ack_deadline_seconds": seconds}
        )

    def listen(self):
        """Starts the high-level client; answers how to end it, and where its messages arrive."""
        arrived = queue.Queue()
        future = subscriber.subscribe(self.subscription, callback=arrived.put)

        def end():
            future.cancel()
            future.result(PATIENCE_SECONDS)

        return end, lambda: arrived.get(timeout=PATIENCE_SECONDS)


def raises(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"expected {kind.__name__}, got no error")


def admin():
    made = Queue(ack_deadline_seconds=20)
    shown = subscriber.get_subscription(request={"subscription": made.subscription})
    assert (shown.topic, shown.ack_deadline_seconds) == (made.topic, 20), shown
    raises(exceptions.AlreadyExists, lambda: publisher.create_topic(request={"name": made.topic}))
    missing = subscriber.subscription_path(PROJECT, f"reference-{uuid.uuid4()}")
    raises(exceptions.NotFound, lambda: subscriber.get_subscription(request={"subscription": missing}))
    raises(exceptions.InvalidArgument, lambda: Queue(ack_deadline_seconds=601))


def publish_and_pull():
    made = Queue()
    message_id = made.send("käse".encode(), kind="cheese")
    received = made.one()
    assert received.message.message_id == message_id
    assert received.message.data.decode() == "käse" and dict(received.message.attributes) == {"kind": "cheese"}
    assert received.delivery_attempt == 0
    made.ack(received.ack_id)
    assert made.look() == []


def extend_and_expire():
    made = Queue(ack_deadline_seconds=10)
    made.send(b"a")
    first = made.one()
    made.modify(600, first.ack_id)
    assert made.look() == []
    made.modify(1, first.ack_id)
    second = made.one()
    assert second.message.message_id == first.message.message_id and second.ack_id != first.ack_id
    made.ack(first.ack_id)  # Stale: answered like any other, without effect.
    made.modify(0, second.ack_id)
    made.ack(made.one().ack_id)
    assert made.look() == []


def stream_and_nack():
    made = Queue(ack_deadline_seconds=600)
    end, arrive = made.listen()
    made.send(b"a")
    first = arrive()
    first.nack()
    second = arrive()
    assert first.message_id == second.message_id
    second.ack()
    end()
    assert made.look() == []


def dead_letters():
    dead = Queue()
    policy = {"dead_letter_topic": dead.topic, "max_delivery_attempts": 5}
    made = Queue(dead_letter_policy=policy)
    made.send(b"a")
    for attempt in range(1, 6):
        received = made.one()
        assert received.delivery_attempt == attempt, received.delivery_attempt
        made.modify(0, received.ack_id)
    assert made.look() == []
    letter = dead.one().message
    assert letter.data == b"a"
    assert letter.attributes["CloudPubSubDeadLetterSourceDeliveryCount"] == "5", letter.attributes


def ordering():
    made = Queue(enable_message_ordering=True)
    end, arrive = made.listen()
    texts = [str(number).encode() for number in range(10)]
    for text in texts:
        made.send(text, client=ordered_publisher, ordering_key="key")
    arrived = []
    for _ in texts:
        message = arrive()
        arrived.append(message.data)
        message.ack()
    end()
    assert arrived == texts, arrived


def exactly_once():
    made = Queue(enable_exactly_once_delivery=True, ack_deadline_seconds=600)
    made.send(b"a")
    end, arrive = made.listen()
    message = arrive()
    assert message.ack_with_response().result(PATIENCE_SECONDS) == AcknowledgeStatus.SUCCESS
    made.send(b"b")
    stale = arrive()
    made.modify(0, stale.ack_id)
    fresh = arrive()
    error = raises(AcknowledgeError, lambda: stale.ack_with_response().result(PATIENCE_SECONDS))
    assert error.error_code == AcknowledgeStatus.INVALID_ACK_ID, error
    assert fresh.ack_with_response().result(PATIENCE_SECONDS) == AcknowledgeStatus.SUCCESS
    end()
    assert made.look() == []


if not os.environ.get("PUBSUB_EMULATOR_HOST"):
    sys.exit("PUBSUB_EMULATOR_HOST: expected the server to drive, host:port, got nothing")

for step in (admin, publish_and_pull, extend_and_expire, stream_and_nack, dead_letters, ordering, exactly_once):
    step()
    print("ok", step.__name__, flush=True)
