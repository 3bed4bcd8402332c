// Drives a Service Bus server with the official Go client, whose AMQP is an implementation of its own.
//
//	node packages/emulators/src/cli.ts --queue jobs --queue jobs.fifo
//	cd test/reference/servicebus-client
//	SERVICEBUS_CONNECTION_STRING='Endpoint=sb://...;UseDevelopmentEmulator=true' go run .
//
// It needs two queues that nobody else uses: jobs, and jobs.fifo with sessions. It empties the first, prints a line "ok <step>" for
// each step that went as it should, and ends with 1 at the first that did not. With UseDevelopmentEmulator=true the client speaks
// AMQP without TLS, to the port that the endpoint names.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

const (
	queue        = "jobs"
	sessionQueue = "jobs.fifo"
	patience     = 20 * time.Second
	glance       = time.Second
)

// failure ends a step; fail and the checks below panic with one.
type failure struct{ text string }

func fail(format string, values ...any) {
	panic(failure{fmt.Sprintf(format, values...)})
}

func check(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func same(actual, expected any) {
	if !reflect.DeepEqual(actual, expected) {
		fail("%#v is not %#v", actual, expected)
	}
}

func sameCode(err error, expected azservicebus.Code) {
	var known *azservicebus.Error
	if !errors.As(err, &known) || known.Code != expected {
		fail("%v is not of the code %s", err, expected)
	}
}

func main() {
	connectionString := os.Getenv("SERVICEBUS_CONNECTION_STRING")
	if connectionString == "" {
		fmt.Fprintln(os.Stderr, "SERVICEBUS_CONNECTION_STRING has to say which server")
		os.Exit(2)
	}
	ctx := context.Background()
	options := &azservicebus.ClientOptions{RetryOptions: azservicebus.RetryOptions{MaxRetries: -1}}
	client, err := azservicebus.NewClientFromConnectionString(connectionString, options)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	step := "open"
	failed := run(func() {
		desk := openDesk(ctx, client)
		for _, next := range steps {
			step = next.name
			next.do(desk)
			fmt.Println("ok", step)
		}
		step = "close"
		check(client.Close(ctx))
	})
	if failed != nil {
		fmt.Fprintf(os.Stderr, "failed %s: %s\n", step, failed.text)
		os.Exit(1)
	}
}

func run(do func()) (failed *failure) {
	defer func() {
		switch found := recover().(type) {
		case nil:
		case failure:
			failed = &found
		default:
			panic(found)
		}
	}()
	do()
	return nil
}
