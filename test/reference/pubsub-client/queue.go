package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// queue is a topic with a subscription to it.
type queue struct {
	client       *pubsub.Client
	topic        string
	subscription string
}

func newQueue(ctx context.Context, client *pubsub.Client, settings *pubsubpb.Subscription) (*queue, error) {
	id := fmt.Sprintf("reference-%d", time.Now().UnixNano())
	q := &queue{
		client:       client,
		topic:        fmt.Sprintf("projects/%s/topics/%s", client.Project(), id),
		subscription: fmt.Sprintf("projects/%s/subscriptions/%s", client.Project(), id),
	}
	if _, err := client.TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: q.topic}); err != nil {
		return nil, err
	}
	settings.Name, settings.Topic = q.subscription, q.topic
	if _, err := client.SubscriptionAdminClient.CreateSubscription(ctx, settings); err != nil {
		return nil, err
	}
	return q, nil
}

func (q *queue) send(ctx context.Context, text string) error {
	publisher := q.client.Publisher(q.topic)
	defer publisher.Stop()
	_, err := publisher.Publish(ctx, &pubsub.Message{Data: []byte(text)}).Get(ctx)
	return err
}

// one waits for a message with the low-level client.
func (q *queue) one(ctx context.Context) (*pubsubpb.ReceivedMessage, error) {
	for {
		request := &pubsubpb.PullRequest{Subscription: q.subscription, MaxMessages: 1}
		response, err := q.client.SubscriptionAdminClient.Pull(ctx, request)
		if err != nil {
			return nil, err
		}
		if len(response.ReceivedMessages) > 0 {
			return response.ReceivedMessages[0], nil
		}
	}
}

func (q *queue) ack(ctx context.Context, ackID string) error {
	request := &pubsubpb.AcknowledgeRequest{Subscription: q.subscription, AckIds: []string{ackID}}
	return q.client.SubscriptionAdminClient.Acknowledge(ctx, request)
}

func (q *queue) modify(ctx context.Context, seconds int32, ackID string) error {
	request := &pubsubpb.ModifyAckDeadlineRequest{
		Subscription:       q.subscription,
		AckIds:             []string{ackID},
		AckDeadlineSeconds: seconds,
	}
	return q.client.SubscriptionAdminClient.ModifyAckDeadline(ctx, request)
}

func (q *queue) expectEmpty(ctx context.Context) error {
	//lint:ignore SA1019 The only pull that does not wait.
	request := &pubsubpb.PullRequest{Subscription: q.subscription, MaxMessages: 10, ReturnImmediately: true}
	response, err := q.client.SubscriptionAdminClient.Pull(ctx, request)
	if err == nil && len(response.ReceivedMessages) > 0 {
		return fmt.Errorf("expected nothing to receive, got %v", response.ReceivedMessages)
	}
	return err
}

// listen hands what arrives to handle, one at a time, with the high-level client; until handle answers false.
func (q *queue) listen(ctx context.Context, handle func(*pubsub.Message) bool) error {
	receiving, cancel := context.WithCancel(ctx)
	defer cancel()
	var one sync.Mutex
	return q.client.Subscriber(q.subscription).Receive(receiving, func(_ context.Context, message *pubsub.Message) {
		one.Lock()
		defer one.Unlock()
		if receiving.Err() != nil {
			message.Nack()
		} else if !handle(message) {
			cancel()
		}
	})
}

func expectCode(err error, code codes.Code) error {
	if status.Code(err) == code {
		return nil
	}
	return fmt.Errorf("expected %v, got %w", code, err)
}
