<?php
// Verifies a phone number: php verify.php start NUMBER APP, then php verify.php check ID CODE APP.
// COUNTERSIGN_AMQP_URL names the broker. Library: php-amqplib (Debian's package, or Composer's php-amqplib/php-amqplib).

use PhpAmqpLib\Connection\AMQPSSLConnection;
use PhpAmqpLib\Connection\AMQPStreamConnection;
use PhpAmqpLib\Exception\AMQPExceptionInterface;
use PhpAmqpLib\Exception\AMQPTimeoutException;
use PhpAmqpLib\Message\AMQPMessage;

require 'PhpAmqpLib/autoload.php'; // of Debian's package; Composer's is vendor/autoload.php

const DEADLINE_SECONDS = 30;
const TRIES = 3;

/** Error reply to a command. `retryAfter` are seconds, or null where waiting does not help. */
final class Refused extends Exception {
    public readonly string $errorCode;
    public readonly ?string $reason;
    public readonly ?int $retryAfter;

    public function __construct(object $error) {
        parent::__construct("$error->code: $error->message");
        $this->errorCode = $error->code;
        $this->reason = $error->reason ?? null;
        $this->retryAfter = $error->retryAfter ?? null;
    }
}

/** No queue takes the command: it is misspelled, or the topology is missing. */
final class Returned extends Exception {}

/** No reply within the deadline. The command may have been carried out: it is repeated under its ID. */
final class Unanswered extends Exception {}

final class Client {
    private AMQPStreamConnection $connection;
    private $channel;
    private array $replies = [];
    private array $returned = [];

    public function __construct(string $url) {
        $this->connection = self::connect($url);
        $this->channel = $this->connection->channel();
        $this->channel->set_return_listener(function ($code, $text, $exchange, $key, AMQPMessage $message) {
            $this->returned[$message->get('message_id')] = $text;
        });
        // Direct reply-to: consumed on the channel that publishes, without acknowledgements.
        $this->channel->basic_consume('amq.rabbitmq.reply-to', '', false, true, false, false, function (AMQPMessage $reply) {
            $this->replies[$reply->get('correlation_id')] = $reply;
        });
    }

    private static function connect(string $url): AMQPStreamConnection {
        $parts = parse_url($url) ?: [];
        $path = trim(urldecode($parts['path'] ?? ''), '/');
        $login = [urldecode($parts['user'] ?? ''), urldecode($parts['pass'] ?? ''), $path === '' ? '/' : $path];
        return match ($parts['scheme'] ?? '') {
            'amqp' => new AMQPStreamConnection($parts['host'], $parts['port'] ?? 5672, ...$login),
            'amqps' => new AMQPSSLConnection(
                $parts['host'], $parts['port'] ?? 5671, ...$login, ssl_options: ['verify_peer' => true, 'verify_peer_name' => true]),
            default => fail('COUNTERSIGN_AMQP_URL has to begin with amqp:// or amqps://'),
        };
    }

    public function ask(string $command, array $body, string $id): object {
        $this->channel->basic_publish(new AMQPMessage(json_encode($body), [
            'type' => "$command.v1", 'message_id' => $id, 'correlation_id' => $id, 'reply_to' => 'amq.rabbitmq.reply-to',
            'content_type' => 'application/json', 'delivery_mode' => 2, 'timestamp' => time(),
        ]), 'countersign.commands', $command, true);
        $deadline = microtime(true) + DEADLINE_SECONDS;
        while (!isset($this->replies[$id])) {
            if (isset($this->returned[$id])) throw new Returned("no queue takes $command: {$this->returned[$id]}");
            if (microtime(true) > $deadline) throw new Unanswered("no reply to $command within " . DEADLINE_SECONDS . ' s');
            try {
                $this->channel->wait(null, false, 1);
            } catch (AMQPTimeoutException) {
            }
        }
        $reply = json_decode($this->replies[$id]->body);
        if ($this->replies[$id]->get('type') === 'error.v1') throw new Refused($reply->error);
        return $reply;
    }
}

/** The reply, also over a lost connection: under the same ID a command has one effect and the same answer. */
function ask(string $command, array $body): object {
    $id = bin2hex(random_bytes(16));
    for ($attempt = 1; ; $attempt++) {
        try {
            return (new Client(getenv('COUNTERSIGN_AMQP_URL')))->ask($command, $body, $id);
        } catch (AMQPExceptionInterface | Unanswered $error) {
            if ($attempt === TRIES) throw $error;
            sleep(2 ** ($attempt - 1));
        }
    }
}

function fail(string $text): never {
    fwrite(STDERR, "$text\n");
    exit(1);
}

try {
    if ($argc === 4 && $argv[1] === 'start') {
        echo ask('verification.start', ['phoneNumber' => $argv[2], 'app' => $argv[3]])->verificationID, "\n";
    } elseif ($argc === 5 && $argv[1] === 'check') {
        echo ask('verification.check', ['verificationID' => $argv[2], 'code' => $argv[3], 'app' => $argv[4]])->phoneNumber, "\n";
    } else {
        fail('usage: php verify.php start NUMBER APP | check ID CODE APP');
    }
} catch (Refused $error) {
    fail($error->getMessage() . ($error->retryAfter === null ? '' : "; again in $error->retryAfter s"));
} catch (Returned | Unanswered | AMQPExceptionInterface $error) {
    fail(get_class($error) . ': ' . $error->getMessage());
}
