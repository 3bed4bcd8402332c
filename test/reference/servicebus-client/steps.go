package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

var steps = []struct {
	name string
	do   func(*desk)
}{
	{"send: all that the sender says arrives, and what the server adds", sendsAll},
	{"send: a batch keeps its order and is full at its limit", sendsBatches},
	{"send: a message that is too large is refused", refusesLarge},
	{"renew: the lock lasts longer, and the token stays", renews},
	{"complete: is gone", completes},
	{"abandon: is back at once, in front, and counted", abandons},
	{"dead-letter: the message is among the dead letters, with its reason", deadLetters},
	{"dead-letter: the tenth delivery that fails is the last", countsOut},
	{"defer: is had by its number alone, locked, renewed and settled", defers},
	{"peek: shows without a lock, from a number on", peeks},
	{"schedule: comes at its time, or is taken back", schedules},
	{"receive and delete: is gone when it comes", deletes},
	{"errors: what is not there is not found", finds},
	{"sessions: bring their own messages in order, renew, keep state, and are held by one", holdsSessions},
	{"sessions: the next that has something and is free", takesNextSessions},
	{"sessions: are listed", listsSessions},
}

func sendsAll(d *desk) {
	before := time.Now().Add(-5 * time.Second)
	check(d.sender.SendMessage(d.ctx, &azservicebus.Message{
		Body:                  []byte{0, 1, 255},
		MessageID:             to.Ptr("m-1"),
		CorrelationID:         to.Ptr("c-1"),
		Subject:               to.Ptr("a subject"),
		ContentType:           to.Ptr("application/octet-stream"),
		PartitionKey:          to.Ptr("p-1"),
		TimeToLive:            to.Ptr(time.Hour),
		ApplicationProperties: map[string]any{"text": "äöü", "whole": int64(7), "part": 1.5, "truth": true},
	}, nil))
	message := d.one(d.receiver)
	same(message.Body, []byte{0, 1, 255})
	same([]string{message.MessageID, *message.CorrelationID, *message.Subject, *message.PartitionKey}, []string{"m-1", "c-1", "a subject", "p-1"})
	same(*message.TimeToLive, time.Hour)
	same(message.ApplicationProperties, map[string]any{"text": "äöü", "whole": int64(7), "part": 1.5, "truth": true})
	// Unlike those of JavaScript and Python, this client counts the delivery that it is.
	same(message.DeliveryCount, uint32(1))
	same(message.State, azservicebus.MessageStateActive)
	if message.EnqueuedTime.Before(before) || !message.LockedUntil.After(*message.EnqueuedTime) {
		fail("enqueued %s, locked until %s", message.EnqueuedTime, message.LockedUntil)
	}
	check(d.receiver.CompleteMessage(d.ctx, message, nil))
	d.none()
}

func sendsBatches(d *desk) {
	batch := must(d.sender.NewMessageBatch(d.ctx, nil))
	var expected []string
	for index := range 10 {
		expected = append(expected, fmt.Sprint("message ", index))
		check(batch.AddMessage(&azservicebus.Message{Body: []byte(expected[index])}, nil))
	}
	check(d.sender.SendMessageBatch(d.ctx, batch, nil))
	messages := d.take(d.receiver, 10)
	same(bodies(messages), expected)
	for index, message := range messages {
		same(*message.SequenceNumber, *messages[0].SequenceNumber+int64(index))
		check(d.receiver.CompleteMessage(d.ctx, message, nil))
	}
	full := must(d.sender.NewMessageBatch(d.ctx, nil))
	var err error
	for err == nil {
		err = full.AddMessage(&azservicebus.Message{Body: make([]byte, 20_000)}, nil)
	}
	if !errors.Is(err, azservicebus.ErrMessageTooLarge) {
		fail("%v is not that the batch is full", err)
	}
	same(full.NumMessages(), int32(13))
}

func refusesLarge(d *desk) {
	err := d.sender.SendMessage(d.ctx, &azservicebus.Message{Body: make([]byte, 262_145)}, nil)
	if !errors.Is(err, azservicebus.ErrMessageTooLarge) {
		fail("%v is not that the message is too large", err)
	}
}

func renews(d *desk) {
	d.send("a")
	message := d.one(d.receiver)
	token, lockedUntil := message.LockToken, *message.LockedUntil
	check(d.receiver.RenewMessageLock(d.ctx, message, nil))
	if !message.LockedUntil.After(lockedUntil) {
		fail("locked until %s, and before until %s", message.LockedUntil, lockedUntil)
	}
	same(message.LockToken, token)
	check(d.receiver.CompleteMessage(d.ctx, message, nil))
	sameCode(d.receiver.RenewMessageLock(d.ctx, message, nil), azservicebus.CodeLockLost)
}

func completes(d *desk) {
	d.send("a")
	check(d.receiver.CompleteMessage(d.ctx, d.one(d.receiver), nil))
	d.none()
	from := &azservicebus.PeekMessagesOptions{FromSequenceNumber: to.Ptr(int64(1))}
	same(len(must(d.receiver.PeekMessages(d.ctx, 5, from))), 0)
}

func abandons(d *desk) {
	d.send("a", "b")
	options := &azservicebus.AbandonMessageOptions{PropertiesToModify: map[string]any{"added": int64(7)}}
	check(d.receiver.AbandonMessage(d.ctx, d.one(d.receiver), options))
	messages := d.take(d.receiver, 2)
	same(bodies(messages), []string{"a", "b"})
	same([]uint32{messages[0].DeliveryCount, messages[1].DeliveryCount}, []uint32{2, 1})
	same(messages[0].ApplicationProperties["added"], int64(7))
	for _, message := range messages {
		check(d.receiver.CompleteMessage(d.ctx, message, nil))
	}
}

func deadLetters(d *desk) {
	d.send("a")
	check(d.receiver.DeadLetterMessage(d.ctx, d.one(d.receiver), &azservicebus.DeadLetterOptions{
		Reason:             to.Ptr("a reason"),
		ErrorDescription:   to.Ptr("a description"),
		PropertiesToModify: map[string]any{"added": "yes"},
	}))
	d.none()
	dead := d.deadLetters()
	message := d.one(dead)
	same([]string{*message.DeadLetterReason, *message.DeadLetterErrorDescription}, []string{"a reason", "a description"})
	same(*message.DeadLetterSource, queue)
	same(message.ApplicationProperties["added"], "yes")
	check(dead.CompleteMessage(d.ctx, message, nil))
	check(dead.Close(d.ctx))
}

func countsOut(d *desk) {
	d.send("a")
	for count := range 10 {
		message := d.one(d.receiver)
		same(message.DeliveryCount, uint32(count+1))
		check(d.receiver.AbandonMessage(d.ctx, message, nil))
	}
	d.none()
	dead := d.deadLetters()
	message := d.one(dead)
	same(*message.DeadLetterReason, "MaxDeliveryCountExceeded")
	check(dead.CompleteMessage(d.ctx, message, nil))
	check(dead.Close(d.ctx))
}

func defers(d *desk) {
	d.send("a")
	message := d.one(d.receiver)
	numbers := []int64{*message.SequenceNumber}
	check(d.receiver.DeferMessage(d.ctx, message, nil))
	d.none()
	again := func() *azservicebus.ReceivedMessage {
		messages := must(d.receiver.ReceiveDeferredMessages(d.ctx, numbers, nil))
		same(bodies(messages), []string{"a"})
		return messages[0]
	}
	deferred := again()
	same(deferred.State, azservicebus.MessageStateDeferred)
	check(d.receiver.RenewMessageLock(d.ctx, deferred, nil))
	check(d.receiver.AbandonMessage(d.ctx, deferred, nil))
	d.none()
	sameCode(d.receiver.CompleteMessage(d.ctx, deferred, nil), azservicebus.CodeLockLost)
	check(d.receiver.CompleteMessage(d.ctx, again(), nil))
	_, err := d.receiver.ReceiveDeferredMessages(d.ctx, numbers, nil)
	sameCode(err, azservicebus.CodeNotFound)
}

func peeks(d *desk) {
	d.send("a", "b")
	from := &azservicebus.PeekMessagesOptions{FromSequenceNumber: to.Ptr(int64(1))}
	peeked := must(d.receiver.PeekMessages(d.ctx, 5, from))
	same(bodies(peeked), []string{"a", "b"})
	from.FromSequenceNumber = peeked[1].SequenceNumber
	same(bodies(must(d.receiver.PeekMessages(d.ctx, 5, from))), []string{"b"})
	for _, message := range d.take(d.receiver, 2) {
		check(d.receiver.CompleteMessage(d.ctx, message, nil))
	}
}

func schedules(d *desk) {
	due := time.Now().Add(2 * time.Second)
	soon := []*azservicebus.Message{{Body: []byte("a")}}
	must(d.sender.ScheduleMessages(d.ctx, soon, due, nil))
	message := d.one(d.receiver)
	if time.Now().Before(due.Add(-50 * time.Millisecond)) {
		fail("it came before its time")
	}
	same(message.ScheduledEnqueueTime.UnixMilli(), due.UnixMilli())
	check(d.receiver.CompleteMessage(d.ctx, message, nil))

	late := []*azservicebus.Message{{Body: []byte("b")}, {Body: []byte("c")}}
	numbers := must(d.sender.ScheduleMessages(d.ctx, late, time.Now().Add(time.Hour), nil))
	from := &azservicebus.PeekMessagesOptions{FromSequenceNumber: to.Ptr(numbers[0])}
	for _, peeked := range must(d.receiver.PeekMessages(d.ctx, 5, from)) {
		same(peeked.State, azservicebus.MessageStateScheduled)
	}
	check(d.sender.CancelScheduledMessages(d.ctx, numbers, nil))
	sameCode(d.sender.CancelScheduledMessages(d.ctx, numbers, nil), azservicebus.CodeNotFound)
	same(len(must(d.receiver.PeekMessages(d.ctx, 5, from))), 0)
}

func deletes(d *desk) {
	d.send("a", "b")
	options := &azservicebus.ReceiverOptions{ReceiveMode: azservicebus.ReceiveModeReceiveAndDelete}
	taker := must(d.client.NewReceiverForQueue(queue, options))
	same(bodies(d.take(taker, 2)), []string{"a", "b"})
	check(taker.Close(d.ctx))
	from := &azservicebus.PeekMessagesOptions{FromSequenceNumber: to.Ptr(int64(1))}
	same(len(must(d.receiver.PeekMessages(d.ctx, 5, from))), 0)
}

func finds(d *desk) {
	receiver := must(d.client.NewReceiverForQueue("nowhere", nil))
	_, err := receiver.ReceiveMessages(d.ctx, 1, nil)
	if err == nil || !strings.Contains(err.Error(), "amqp:not-found") {
		fail("%v is not amqp:not-found", err)
	}
}
