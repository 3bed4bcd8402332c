// Serves pstest, the Pub/Sub fake of Google's Go module, at an address of this machine until it is ended.
//
//	go run . 127.0.0.1:8085
package main

import (
	"fmt"
	"os"

	"cloud.google.com/go/pubsub/v2/pstest"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: pstest <host>:<port>")
		os.Exit(2)
	}
	pstest.NewServerWithAddress(os.Args[1])
	select {}
}
