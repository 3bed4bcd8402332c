// Drives a Pub/Sub server with Google's Go client: a second reading of the wire, made by others than the Node client.
//
//	cd test/reference/pubsub-client && PUBSUB_EMULATOR_HOST=127.0.0.1:8085 go run . [project]
//
// The project is "local" unless another is given. Prints "ok <step>" for each step; the first that fails ends it with the reason
// and exit code 1. Needs nothing on the server, and leaves a few topics there.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/googleapis/gax-go/v2/apierror"
	"google.golang.org/grpc/codes"
)

const patience = 2 * time.Minute

var steps = []struct {
	name string
	run  func(context.Context, *pubsub.Client) error
}{
	{"admin", admin},
	{"publish_and_pull", publishAndPull},
	{"extend_and_expire", extendAndExpire},
	{"stream_and_nack", streamAndNack},
	{"dead_letters", deadLetters},
	{"ordering", ordering},
	{"exactly_once", exactlyOnce},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if os.Getenv("PUBSUB_EMULATOR_HOST") == "" {
		return errors.New("PUBSUB_EMULATOR_HOST: expected the server to drive, host:port, got nothing")
	}
	project := "local"
	if len(os.Args) > 1 {
		project = os.Args[1]
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := pubsub.NewClient(ctx, project)
	if err != nil {
		return err
	}
	defer client.Close()
	for _, step := range steps {
		if err := step.run(ctx, client); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Println("ok", step.name)
	}
	return nil
}

func admin(ctx context.Context, client *pubsub.Client) error {
	q, err := newQueue(ctx, client, &pubsubpb.Subscription{AckDeadlineSeconds: 20})
	if err != nil {
		return err
	}
	shown, err := client.SubscriptionAdminClient.GetSubscription(ctx, &pubsubpb.GetSubscriptionRequest{Subscription: q.subscription})
	if err != nil {
		return err
	}
	if shown.Topic != q.topic || shown.AckDeadlineSeconds != 20 {
		return fmt.Errorf("expected the settings as they were given, got %v", shown)
	}
	_, err = client.TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: q.topic})
	if err := expectCode(err, codes.AlreadyExists); err != nil {
		return err
	}
	missing := &pubsubpb.GetSubscriptionRequest{Subscription: q.subscription + "-missing"}
	_, err = client.SubscriptionAdminClient.GetSubscription(ctx, missing)
	if err := expectCode(err, codes.NotFound); err != nil {
		return err
	}
	_, err = newQueue(ctx, client, &pubsubpb.Subscription{AckDeadlineSeconds: 601})
	return expectCode(err, codes.InvalidArgument)
}

func publishAndPull(ctx context.Context, client *pubsub.Client) error {
	q, err := newQueue(ctx, client, &pubsubpb.Subscription{})
	if err != nil {
		return err
	}
	publisher := client.Publisher(q.topic)
	defer publisher.Stop()
	sent := &pubsub.Message{Data: []byte("käse"), Attributes: map[string]string{"kind": "cheese"}}
	id, err := publisher.Publish(ctx, sent).Get(ctx)
	if err != nil {
		return err
	}
	received, err := q.one(ctx)
	if err != nil {
		return err
	}
	message := received.Message
	if message.MessageId != id || string(message.Data) != "käse" || message.Attributes["kind"] != "cheese" {
		return fmt.Errorf("expected what was published as %s, got %v", id, message)
	}
	if received.DeliveryAttempt != 0 {
		return fmt.Errorf("expected no count of attempts, got %d", received.DeliveryAttempt)
	}
	if err := q.ack(ctx, received.AckId); err != nil {
		return err
	}
	return q.expectEmpty(ctx)
}

func extendAndExpire(ctx context.Context, client *pubsub.Client) error {
	q, err := newQueue(ctx, client, &pubsubpb.Subscription{AckDeadlineSeconds: 10})
	if err != nil {
		return err
	}
	if err := q.send(ctx, "a"); err != nil {
		return err
	}
	first, err := q.one(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(q.modify(ctx, 600, first.AckId), q.expectEmpty(ctx), q.modify(ctx, 1, first.AckId)); err != nil {
		return err
	}
	second, err := q.one(ctx)
	if err != nil {
		return err
	}
	if second.Message.MessageId != first.Message.MessageId || second.AckId == first.AckId {
		return fmt.Errorf("expected another delivery of %v, got %v", first, second)
	}
	// Stale: answered like any other, without effect.
	if err := errors.Join(q.ack(ctx, first.AckId), q.modify(ctx, 0, second.AckId)); err != nil {
		return err
	}
	third, err := q.one(ctx)
	if err != nil {
		return err
	}
	return errors.Join(q.ack(ctx, third.AckId), q.expectEmpty(ctx))
}

func streamAndNack(ctx context.Context, client *pubsub.Client) error {
	q, err := newQueue(ctx, client, &pubsubpb.Subscription{AckDeadlineSeconds: 600})
	if err != nil {
		return err
	}
	if err := q.send(ctx, "a"); err != nil {
		return err
	}
	var ids []string
	err = q.listen(ctx, func(message *pubsub.Message) bool {
		ids = append(ids, message.ID)
		if len(ids) == 1 {
			message.Nack()
			return true
		}
		message.Ack()
		return false
	})
	if err != nil {
		return err
	}
	if len(ids) != 2 || ids[0] != ids[1] {
		return fmt.Errorf("expected one message twice, got %v", ids)
	}
	return q.expectEmpty(ctx)
}

func deadLetters(ctx context.Context, client *pubsub.Client) error {
	dead, err := newQueue(ctx, client, &pubsubpb.Subscription{})
	if err != nil {
		return err
	}
	policy := &pubsubpb.DeadLetterPolicy{DeadLetterTopic: dead.topic, MaxDeliveryAttempts: 5}
	q, err := newQueue(ctx, client, &pubsubpb.Subscription{DeadLetterPolicy: policy})
	if err != nil {
		return err
	}
	if err := q.send(ctx, "a"); err != nil {
		return err
	}
	for attempt := int32(1); attempt <= 5; attempt++ {
		received, err := q.one(ctx)
		if err != nil {
			return err
		}
		if received.DeliveryAttempt != attempt {
			return fmt.Errorf("expected attempt %d, got %d", attempt, received.DeliveryAttempt)
		}
		if err := q.modify(ctx, 0, received.AckId); err != nil {
			return err
		}
	}
	if err := q.expectEmpty(ctx); err != nil {
		return err
	}
	letter, err := dead.one(ctx)
	if err != nil {
		return err
	}
	if count := letter.Message.Attributes["CloudPubSubDeadLetterSourceDeliveryCount"]; count != "5" {
		return fmt.Errorf("expected a letter after 5 deliveries, got %v", letter.Message)
	}
	return nil
}

func ordering(ctx context.Context, client *pubsub.Client) error {
	q, err := newQueue(ctx, client, &pubsubpb.Subscription{EnableMessageOrdering: true})
	if err != nil {
		return err
	}
	publisher := client.Publisher(q.topic)
	defer publisher.Stop()
	publisher.EnableMessageOrdering = true
	var sent, arrived []string
	for number := range 10 {
		text := fmt.Sprint(number)
		sent = append(sent, text)
		message := &pubsub.Message{Data: []byte(text), OrderingKey: "key"}
		if _, err := publisher.Publish(ctx, message).Get(ctx); err != nil {
			return err
		}
	}
	err = q.listen(ctx, func(message *pubsub.Message) bool {
		arrived = append(arrived, string(message.Data))
		message.Ack()
		return len(arrived) < len(sent)
	})
	if err != nil {
		return err
	}
	if fmt.Sprint(arrived) != fmt.Sprint(sent) {
		return fmt.Errorf("expected %v, got %v", sent, arrived)
	}
	return nil
}

func exactlyOnce(ctx context.Context, client *pubsub.Client) error {
	settings := &pubsubpb.Subscription{EnableExactlyOnceDelivery: true, AckDeadlineSeconds: 600}
	q, err := newQueue(ctx, client, settings)
	if err != nil {
		return err
	}
	if err := q.send(ctx, "a"); err != nil {
		return err
	}
	var result pubsub.AcknowledgeStatus
	var refusal error
	err = q.listen(ctx, func(message *pubsub.Message) bool {
		result, refusal = message.AckWithResult().Get(ctx)
		return false
	})
	if err := errors.Join(err, refusal); err != nil || result != pubsub.AcknowledgeStatusSuccess {
		return fmt.Errorf("expected an ack to succeed, got %v: %w", result, err)
	}
	// The high-level client keeps its ack ids to itself.
	if err := q.send(ctx, "b"); err != nil {
		return err
	}
	stale, err := q.one(ctx)
	if err != nil {
		return err
	}
	if err := q.modify(ctx, 0, stale.AckId); err != nil {
		return err
	}
	fresh, err := q.one(ctx)
	if err != nil {
		return err
	}
	refused, ok := apierror.FromError(q.ack(ctx, stale.AckId))
	if !ok || refused.GRPCStatus().Code() != codes.InvalidArgument || refused.Reason() != "EXACTLY_ONCE_ACKID_FAILURE" {
		return fmt.Errorf("expected a stale ack to be refused, got %v", refused)
	}
	if verdict := refused.Metadata()[stale.AckId]; verdict != "PERMANENT_FAILURE_INVALID_ACK_ID" {
		return fmt.Errorf("expected the stale id to be named, got %v", refused.Metadata())
	}
	return errors.Join(q.ack(ctx, fresh.AckId), q.expectEmpty(ctx))
}
