package main

import (
	"context"
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

// desk is what the steps work with.
type desk struct {
	ctx      context.Context
	client   *azservicebus.Client
	sender   *azservicebus.Sender
	receiver *azservicebus.Receiver
}

// receives is what a receiver and one of a session have in common.
type receives interface {
	ReceiveMessages(ctx context.Context, max int, options *azservicebus.ReceiveMessagesOptions) ([]*azservicebus.ReceivedMessage, error)
}

func openDesk(ctx context.Context, client *azservicebus.Client) *desk {
	sender := must(client.NewSender(queue, nil))
	receiver := must(client.NewReceiverForQueue(queue, nil))
	opened := &desk{ctx, client, sender, receiver}
	opened.empty(azservicebus.SubQueueDeadLetter)
	opened.empty(0)
	return opened
}

func (d *desk) empty(which azservicebus.SubQueue) {
	options := &azservicebus.ReceiverOptions{ReceiveMode: azservicebus.ReceiveModeReceiveAndDelete, SubQueue: which}
	taker := must(d.client.NewReceiverForQueue(queue, options))
	for len(d.glance(taker)) > 0 {
	}
	check(taker.Close(d.ctx))
}

// glance receives what is there at once, up to 100.
func (d *desk) glance(from receives) []*azservicebus.ReceivedMessage {
	ctx, cancel := context.WithTimeout(d.ctx, glance)
	defer cancel()
	messages, err := from.ReceiveMessages(ctx, 100, nil)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		check(err)
	}
	return messages
}

// none looks with a receiver of its own: one that gave up waiting has credit left, and what comes later piles up in it.
func (d *desk) none() {
	receiver := must(d.client.NewReceiverForQueue(queue, nil))
	if messages := d.glance(receiver); len(messages) > 0 {
		fail("nothing was expected, but %s came", messages[0].Body)
	}
	check(receiver.Close(d.ctx))
}

// take receives exactly so many.
func (d *desk) take(from receives, count int) []*azservicebus.ReceivedMessage {
	ctx, cancel := context.WithTimeout(d.ctx, patience)
	defer cancel()
	var messages []*azservicebus.ReceivedMessage
	for len(messages) < count {
		more := must(from.ReceiveMessages(ctx, count-len(messages), nil))
		messages = append(messages, more...)
	}
	same(len(messages), count)
	return messages
}

func (d *desk) one(from receives) *azservicebus.ReceivedMessage {
	return d.take(from, 1)[0]
}

func (d *desk) send(texts ...string) {
	for _, text := range texts {
		check(d.sender.SendMessage(d.ctx, &azservicebus.Message{Body: []byte(text)}, nil))
	}
}

func (d *desk) deadLetters() *azservicebus.Receiver {
	options := &azservicebus.ReceiverOptions{SubQueue: azservicebus.SubQueueDeadLetter}
	return must(d.client.NewReceiverForQueue(queue, options))
}

func bodies(messages []*azservicebus.ReceivedMessage) []string {
	var texts []string
	for _, message := range messages {
		texts = append(texts, string(message.Body))
	}
	return texts
}
