/// AMQP 0-9-1 on librabbitmq: consumers, publishers and requests that survive the loss of the broker.
