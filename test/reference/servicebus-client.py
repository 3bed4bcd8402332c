"""Drives a Service Bus server with the official Python client, whose AMQP is an implementation of its own.

    pip install -r test/reference/requirements.txt
    node packages/emulators/src/cli.ts --queue jobs --queue jobs.fifo
    SERVICEBUS_CONNECTION_STRING='Endpoint=sb://...;UseDevelopmentEmulator=true' python test/reference/servicebus-client.py

It needs two queues that nobody else uses: `jobs`, and `jobs.fifo` with sessions. It empties them, prints a line `ok <step>` for
each step that went as it should, and ends with 1 at the first that did not. With `UseDevelopmentEmulator=true` the client speaks
AMQP without TLS, to the port that the endpoint names.
"""

import os
import sys
import traceback
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from uuid import UUID

from azure.servicebus import (
    NEXT_AVAILABLE_SESSION,
    ServiceBusClient,
    ServiceBusMessage,
    ServiceBusMessageState,
    ServiceBusReceiveMode,
    ServiceBusSubQueue,
)
from azure.servicebus.exceptions import (
    MessageAlreadySettled,
    MessageLockLostError,
    MessageNotFoundError,
    MessageSizeExceededError,
    MessagingEntityNotFoundError,
    OperationTimeoutError,
    SessionCannotBeLockedError,
)

QUEUE = "jobs"
SESSION_QUEUE = "jobs.fifo"
LOCK = timedelta(seconds=60)
PATIENCE_S = 20
GLANCE_S = 1


@contextmanager
def step(name):
    yield
    print(f"ok {name}", flush=True)


@contextmanager
def raises(kind):
    try:
        yield
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was expected")


def same(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r} is not {expected!r}")


def one(receiver):
    """Receives exactly one."""
    messages = receiver.receive_messages(max_message_count=1, max_wait_time=PATIENCE_S)
    same(len(messages), 1)
    return messages[0]


def take(receiver, count):
    """Receives exactly so many."""
    messages = []
    while len(messages) < count:
        more = receiver.receive_messages(max_message_count=count - len(messages), max_wait_time=PATIENCE_S)
        if not more:
            raise AssertionError(f"{count} messages were expected, {len(messages)} came")
        messages.extend(more)
    return messages


def none(receiver):
    same([str(message) for message in receiver.receive_messages(max_wait_time=GLANCE_S)], [])


def empty(client, **which):
    with client.get_queue_receiver(QUEUE, receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE, **which) as receiver:
        while receiver.receive_messages(max_message_count=100, max_wait_time=GLANCE_S):
            pass


def drive(client):
    empty(client)
    empty(client, sub_queue=ServiceBusSubQueue.DEAD_LETTER)
    with client.get_queue_sender(QUEUE) as sender, client.get_queue_receiver(QUEUE) as receiver:
        sends(sender, receiver)
        settles(sender, receiver)
        dead_letters(client, sender, receiver)
        defers(sender, receiver)
        schedules(sender, receiver)
        deletes(client, sender, receiver)
    errors(client)
    sessions(client)


def sends(sender, receiver):
    with step("send: all that the sender says arrives, and what the server adds"):
        before = datetime.now(timezone.utc) - timedelta(seconds=5)
        sender.send_messages(
            ServiceBusMessage(
                b"\x00\x01\xff",
                message_id="m-1",
                correlation_id="c-1",
                subject="a subject",
                content_type="application/octet-stream",
                partition_key="p-1",
                time_to_live=timedelta(hours=1),
                application_properties={"text": "äöü", "whole": 7, "part": 1.5, "truth": True},
            )
        )
        message = one(receiver)
        same(b"".join(message.body), b"\x00\x01\xff")
        same([message.message_id, message.correlation_id, message.subject], ["m-1", "c-1", "a subject"])
        same([message.partition_key, message.time_to_live], ["p-1", timedelta(hours=1)])
        same(message.application_properties, {b"text": "äöü".encode(), b"whole": 7, b"part": 1.5, b"truth": True})
        same(message.delivery_count, 0)
        same(message.state, ServiceBusMessageState.ACTIVE)
        same(type(message.lock_token), UUID)
        if not before < message.enqueued_time_utc < message.locked_until_utc <= datetime.now(timezone.utc) + LOCK:
            raise AssertionError(f"enqueued {message.enqueued_time_utc}, locked until {message.locked_until_utc}")
        receiver.complete_message(message)
        none(receiver)

    with step("send: a list and a batch keep their order, and each message has a number and a lock of its own"):
        sender.send_messages([ServiceBusMessage(f"list {index}") for index in range(10)])
        batch = sender.create_message_batch()
        same(batch.max_size_in_bytes, 262_144)
        for index in range(10):
            batch.add_message(ServiceBusMessage(f"batch {index}"))
        sender.send_messages(batch)
        messages = take(receiver, 20)
        expected = [f"list {index}" for index in range(10)] + [f"batch {index}" for index in range(10)]
        same([str(message) for message in messages], expected)
        numbers = [message.sequence_number for message in messages]
        same(numbers, list(range(numbers[0], numbers[0] + 20)))
        same(len({message.lock_token for message in messages}), 20)
        for message in messages:
            receiver.complete_message(message)
        none(receiver)

    with step("send: a batch is full at its limit"):
        batch = sender.create_message_batch()
        with raises(ValueError):
            for _ in range(100):
                batch.add_message(ServiceBusMessage(b"x" * 20_000))
        same(len(batch), 13)

    with step("send: a message that is too large is refused"):
        with raises(MessageSizeExceededError):
            sender.send_messages(ServiceBusMessage(b"x" * 262_145))

    with step("peek: shows without a lock, from a number on"):
        sender.send_messages([ServiceBusMessage("a"), ServiceBusMessage("b")])
        peeked = receiver.peek_messages(max_message_count=5)
        same([str(message) for message in peeked], ["a", "b"])
        again = receiver.peek_messages(max_message_count=5, sequence_number=peeked[1].sequence_number)
        same([str(message) for message in again], ["b"])
        for message in take(receiver, 2):
            receiver.complete_message(message)


def settles(sender, receiver):
    with step("renew: the lock lasts longer, and the token stays"):
        sender.send_messages(ServiceBusMessage("a"))
        message = one(receiver)
        token, locked_until = message.lock_token, message.locked_until_utc
        if receiver.renew_message_lock(message) <= locked_until:
            raise AssertionError("the lock does not last longer")
        same(message.lock_token, token)

    with step("complete: settles once"):
        receiver.complete_message(message)
        with raises(MessageAlreadySettled):
            receiver.complete_message(message)
        none(receiver)

    with step("abandon: is back at once, in front, and counted"):
        sender.send_messages([ServiceBusMessage("a"), ServiceBusMessage("b")])
        receiver.abandon_message(one(receiver))
        messages = take(receiver, 2)
        same([(str(message), message.delivery_count) for message in messages], [("a", 1), ("b", 0)])
        for message in messages:
            receiver.complete_message(message)


def dead_letters(client, sender, receiver):
    with step("dead-letter: the message is among the dead letters, with its reason"):
        sender.send_messages(ServiceBusMessage("a", application_properties={"kept": "yes"}))
        receiver.dead_letter_message(one(receiver), reason="a reason", error_description="a description")
        none(receiver)
        with client.get_queue_receiver(QUEUE, sub_queue=ServiceBusSubQueue.DEAD_LETTER) as dead:
            message = one(dead)
            same([message.dead_letter_reason, message.dead_letter_error_description], ["a reason", "a description"])
            same(message.dead_letter_source, QUEUE)
            same(message.application_properties[b"kept"], b"yes")
            dead.complete_message(message)

    with step("dead-letter: the tenth delivery that fails is the last"):
        sender.send_messages(ServiceBusMessage("a"))
        for count in range(10):
            message = one(receiver)
            same(message.delivery_count, count)
            receiver.abandon_message(message)
        none(receiver)
        with client.get_queue_receiver(QUEUE, sub_queue=ServiceBusSubQueue.DEAD_LETTER) as dead:
            message = one(dead)
            same(message.dead_letter_reason, "MaxDeliveryCountExceeded")
            dead.complete_message(message)


def defers(sender, receiver):
    with step("defer: is had by its number alone, locked, renewed and settled"):
        sender.send_messages(ServiceBusMessage("a"))
        message = one(receiver)
        receiver.defer_message(message)
        none(receiver)
        same(receiver.peek_messages(sequence_number=message.sequence_number)[0].state, ServiceBusMessageState.DEFERRED)
        (deferred,) = receiver.receive_deferred_messages(message.sequence_number)
        same(str(deferred), "a")
        receiver.renew_message_lock(deferred)
        receiver.abandon_message(deferred)
        none(receiver)
        (deferred,) = receiver.receive_deferred_messages([message.sequence_number])
        receiver.complete_message(deferred)
        with raises(MessageNotFoundError):
            receiver.receive_deferred_messages(message.sequence_number)

    with step("complete: over $management a lock that is over is lost"):
        sender.send_messages(ServiceBusMessage("a"))
        message = one(receiver)
        receiver.defer_message(message)
        (first,) = receiver.receive_deferred_messages(message.sequence_number)
        receiver.abandon_message(first)
        first._settled = False
        with raises(MessageLockLostError):
            receiver.complete_message(first)
        (second,) = receiver.receive_deferred_messages(message.sequence_number)
        receiver.complete_message(second)


def schedules(sender, receiver):
    with step("schedule: comes at its time"):
        due = datetime.now(timezone.utc) + timedelta(seconds=2)
        sender.schedule_messages(ServiceBusMessage("a"), due)
        message = one(receiver)
        if datetime.now(timezone.utc) < due - timedelta(milliseconds=50):
            raise AssertionError("it came before its time")
        same(abs(message.scheduled_enqueue_time_utc - due) < timedelta(milliseconds=1), True)
        receiver.complete_message(message)

    with step("schedule: is taken back by its number"):
        due = datetime.now(timezone.utc) + timedelta(hours=1)
        numbers = sender.schedule_messages([ServiceBusMessage("a"), ServiceBusMessage("b")], due)
        peeked = receiver.peek_messages(max_message_count=5, sequence_number=numbers[0])
        same([message.state for message in peeked], [ServiceBusMessageState.SCHEDULED] * 2)
        sender.cancel_scheduled_messages(numbers)
        with raises(MessageNotFoundError):
            sender.cancel_scheduled_messages(numbers[0])
        same(receiver.peek_messages(sequence_number=numbers[0]), [])


def deletes(client, sender, receiver):
    with step("receive and delete: is gone when it comes"):
        sender.send_messages([ServiceBusMessage("a"), ServiceBusMessage("b")])
        mode = ServiceBusReceiveMode.RECEIVE_AND_DELETE
        with client.get_queue_receiver(QUEUE, receive_mode=mode) as taker:
            same([str(message) for message in take(taker, 2)], ["a", "b"])
        same(receiver.peek_messages(sequence_number=1), [])


def errors(client):
    with step("errors: what is not there is not found"):
        with raises(MessagingEntityNotFoundError), client.get_queue_receiver("nowhere") as receiver:
            receiver.receive_messages(max_wait_time=GLANCE_S)


def sessions(client):
    with client.get_queue_sender(SESSION_QUEUE) as sender:
        with step("sessions: bring their own messages in order, renew, keep state, and are held by one"):
            texts = ["a1", "b1", "a2", "b2"]
            sender.send_messages([ServiceBusMessage(text, session_id=text[0]) for text in texts])
            with client.get_queue_receiver(SESSION_QUEUE, session_id="a") as a:
                messages = take(a, 2)
                same([(str(message), message.session_id) for message in messages], [("a1", "a"), ("a2", "a")])
                locked_until = a.session.locked_until_utc
                if a.session.renew_lock() < locked_until:
                    raise AssertionError("the lock does not last longer")
                a.session.set_state(b"\x00\xff")
                same(a.session.get_state(), b"\x00\xff")
                with raises(SessionCannotBeLockedError):
                    with client.get_queue_receiver(SESSION_QUEUE, session_id="a"):
                        pass
                for message in messages:
                    a.complete_message(message)

        with step("sessions: the next that has something and is free"):
            with client.get_queue_receiver(SESSION_QUEUE, session_id=NEXT_AVAILABLE_SESSION) as b:
                same(b.session.session_id, "b")
                b.abandon_message(one(b))
                messages = take(b, 2)
                same([(str(message), message.delivery_count) for message in messages], [("b1", 1), ("b2", 0)])
                for message in messages:
                    b.complete_message(message)

        with step("sessions: state outlives who set it, and nothing to have is a time-out"):
            with client.get_queue_receiver(SESSION_QUEUE, session_id="a") as a:
                same(a.session.get_state(), b"\x00\xff")
                a.session.set_state(None)
                same(a.session.get_state(), None)
            options = {"session_id": NEXT_AVAILABLE_SESSION, "max_wait_time": GLANCE_S}
            with raises(OperationTimeoutError), client.get_queue_receiver(SESSION_QUEUE, **options) as nobody:
                nobody.receive_messages()


def main():
    connection_string = os.environ.get("SERVICEBUS_CONNECTION_STRING")
    if connection_string is None:
        print("SERVICEBUS_CONNECTION_STRING has to say which server", file=sys.stderr)
        return 2
    try:
        with ServiceBusClient.from_connection_string(connection_string, retry_total=0) as client:
            drive(client)
    except Exception:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
