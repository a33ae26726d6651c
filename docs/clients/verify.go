// Verifies a phone number: go run verify.go start NUMBER APP, then go run verify.go check ID CODE APP.
// COUNTERSIGN_AMQP_URL names the broker. Library: github.com/rabbitmq/amqp091-go.
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	deadline = 30 * time.Second
	tries    = 3
)

// Refused is the error reply to a command. RetryAfter are seconds, or nil where waiting does not help.
type Refused struct {
	Code       string `json:"code"`
	Message    string `json:"message"`
	Reason     string `json:"reason"`
	RetryAfter *int   `json:"retryAfter"`
}

func (e *Refused) Error() string {
	if e.RetryAfter == nil {
		return e.Code + ": " + e.Message
	}
	return fmt.Sprintf("%s: %s; again in %d s", e.Code, e.Message, *e.RetryAfter)
}

// Returned means that no queue takes the command: it is misspelled, or the topology is missing.
type Returned struct{ Command, Text string }

func (e *Returned) Error() string { return "no queue takes " + e.Command + ": " + e.Text }

func askOnce(command string, body []byte, id string, reply any) error {
	connection, err := amqp.Dial(os.Getenv("COUNTERSIGN_AMQP_URL"))
	if err != nil {
		return err
	}
	defer connection.Close()
	channel, err := connection.Channel()
	if err != nil {
		return err
	}
	returns := channel.NotifyReturn(make(chan amqp.Return, 1))
	// Direct reply-to: consumed on the channel that publishes, without acknowledgements.
	replies, err := channel.Consume("amq.rabbitmq.reply-to", "", true, false, false, false, nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	err = channel.PublishWithContext(ctx, "countersign.commands", command, true, false, amqp.Publishing{
		Type: command + ".v1", MessageId: id, CorrelationId: id, ReplyTo: "amq.rabbitmq.reply-to",
		ContentType: "application/json", DeliveryMode: amqp.Persistent, Timestamp: time.Now(), Body: body,
	})
	if err != nil {
		return err
	}
	for {
		select {
		case returned, open := <-returns:
			// Closed with the channel, as the replies are.
			if !open {
				return amqp.ErrClosed
			}
			return &Returned{command, returned.ReplyText}
		case delivery, open := <-replies:
			if !open {
				return amqp.ErrClosed
			}
			if delivery.CorrelationId != id {
				continue
			}
			if delivery.Type != "error.v1" {
				return json.Unmarshal(delivery.Body, reply)
			}
			var refusal struct {
				Error Refused `json:"error"`
			}
			if err := json.Unmarshal(delivery.Body, &refusal); err != nil {
				return err
			}
			return &refusal.Error
		case <-ctx.Done():
			return fmt.Errorf("no reply to %s within %s", command, deadline)
		}
	}
}

// ask repeats over a lost connection: under the same ID a command has one effect and the same answer.
func ask(command string, body map[string]string, reply any) error {
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		err := askOnce(command, text, hex.EncodeToString(random), reply)
		var refused *Refused
		var returned *Returned
		if err == nil || errors.As(err, &refused) || errors.As(err, &returned) || attempt == tries {
			return err
		}
		time.Sleep(time.Second << (attempt - 1))
	}
}

func main() {
	var err error
	var reply struct{ VerificationID, PhoneNumber string }
	switch arguments := os.Args[1:]; {
	case len(arguments) == 3 && arguments[0] == "start":
		if err = ask("verification.start", map[string]string{"phoneNumber": arguments[1], "app": arguments[2]}, &reply); err == nil {
			fmt.Println(reply.VerificationID)
		}
	case len(arguments) == 4 && arguments[0] == "check":
		body := map[string]string{"verificationID": arguments[1], "code": arguments[2], "app": arguments[3]}
		if err = ask("verification.check", body, &reply); err == nil {
			fmt.Println(reply.PhoneNumber)
		}
	default:
		err = errors.New("usage: verify start NUMBER APP | check ID CODE APP")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
