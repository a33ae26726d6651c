// Verifies a phone number: java -cp amqp-client.jar:… Verify.java start NUMBER APP, then … check ID CODE APP.
// COUNTERSIGN_AMQP_URL names the broker. Libraries: com.rabbitmq:amqp-client 5, com.google.code.gson:gson 2.

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Address;
import com.rabbitmq.client.AddressResolver;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.ListAddressResolver;
import com.rabbitmq.client.ShutdownSignalException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Date;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

public final class Verify {
    private static final int DEADLINE_SECONDS = 30;
    private static final int TRIES = 3;

    /** Error reply to a command. {@code retryAfter} are seconds, or null where waiting does not help. */
    static final class Refused extends Exception {
        final String code;
        final String reason;
        final Integer retryAfter;

        Refused(JsonObject error) {
            super(error.get("code").getAsString() + ": " + error.get("message").getAsString());
            code = error.get("code").getAsString();
            reason = error.has("reason") ? error.get("reason").getAsString() : null;
            retryAfter = error.has("retryAfter") ? error.get("retryAfter").getAsInt() : null;
        }
    }

    /** No queue takes the command: it is misspelled, or the topology is missing. */
    static final class Returned extends Exception {
        Returned(String text) { super(text); }
    }

    private record Event(String type, String body) {}

    private static JsonObject ask(Connection connection, String command, JsonObject body, String id)
            throws IOException, TimeoutException, InterruptedException, Refused, Returned {
        BlockingQueue<Event> events = new LinkedBlockingQueue<>();
        Channel channel = connection.createChannel();
        channel.addReturnListener((code, text, exchange, key, properties, content) -> events.add(new Event("", text)));
        // Direct reply-to: consumed on the channel that publishes, without acknowledgements.
        channel.basicConsume("amq.rabbitmq.reply-to", true, (tag, reply) -> {
            if (id.equals(reply.getProperties().getCorrelationId())) {
                events.add(new Event(reply.getProperties().getType(), new String(reply.getBody(), StandardCharsets.UTF_8)));
            }
        }, tag -> { });
        AMQP.BasicProperties properties = new AMQP.BasicProperties.Builder()
            .type(command + ".v1").messageId(id).correlationId(id).replyTo("amq.rabbitmq.reply-to")
            .contentType("application/json").deliveryMode(2).timestamp(new Date()).build();
        channel.basicPublish("countersign.commands", command, true, properties, body.toString().getBytes(StandardCharsets.UTF_8));
        Event event = events.poll(DEADLINE_SECONDS, TimeUnit.SECONDS);
        if (event == null) throw new TimeoutException("no reply to " + command + " within " + DEADLINE_SECONDS + " s");
        if (event.type().isEmpty()) throw new Returned("no queue takes " + command + ": " + event.body());
        JsonObject reply = JsonParser.parseString(event.body()).getAsJsonObject();
        if (event.type().equals("error.v1")) throw new Refused(reply.getAsJsonObject("error"));
        return reply;
    }

    /** The reply, also over a lost connection: under the same ID a command has one effect and the same answer. */
    private static JsonObject ask(String command, JsonObject body) throws Exception {
        ConnectionFactory factory = new ConnectionFactory();
        factory.setUri(address());
        if (factory.isSSL()) verify(factory);
        factory.setAutomaticRecoveryEnabled(false);
        String id = UUID.randomUUID().toString();
        for (int attempt = 1; ; attempt++) {
            // A list, since for a single host the library has the certificate compared with the address that it looks up.
            AddressResolver host = new ListAddressResolver(List.of(new Address(factory.getHost(), factory.getPort())));
            try (Connection connection = factory.newConnection(host)) {
                return ask(connection, command, body, id);
            } catch (IOException | TimeoutException | ShutdownSignalException error) {
                if (attempt == TRIES) throw error;
                Thread.sleep(1000L << (attempt - 1));
            }
        }
    }

    private static String address() {
        String url = System.getenv("COUNTERSIGN_AMQP_URL");
        if (url == null || !url.matches("amqps?://.*")) fail("COUNTERSIGN_AMQP_URL has to begin with amqp:// or amqps://");
        return url;
    }

    /** The library itself takes any certificate of any host. */
    private static void verify(ConnectionFactory factory) throws Exception {
        factory.useSslProtocol(SSLContext.getDefault());
        factory.setSocketConfigurator(socket -> {
            socket.setTcpNoDelay(true);
            SSLParameters parameters = ((SSLSocket) socket).getSSLParameters();
            parameters.setEndpointIdentificationAlgorithm("HTTPS");
            ((SSLSocket) socket).setSSLParameters(parameters);
        });
    }

    public static void main(String[] arguments) throws Exception {
        try {
            if (arguments.length == 3 && arguments[0].equals("start")) {
                JsonObject body = body("phoneNumber", arguments[1], "app", arguments[2]);
                System.out.println(ask("verification.start", body).get("verificationID").getAsString());
            } else if (arguments.length == 4 && arguments[0].equals("check")) {
                JsonObject body = body("verificationID", arguments[1], "code", arguments[2], "app", arguments[3]);
                System.out.println(ask("verification.check", body).get("phoneNumber").getAsString());
            } else {
                fail("usage: Verify start NUMBER APP | check ID CODE APP");
            }
        } catch (Refused error) {
            fail(error.getMessage() + (error.retryAfter == null ? "" : "; again in " + error.retryAfter + " s"));
        } catch (Returned | IOException | TimeoutException error) {
            fail(error.getClass().getSimpleName() + ": " + error.getMessage());
        }
    }

    private static JsonObject body(String... fields) {
        JsonObject body = new JsonObject();
        for (int place = 0; place < fields.length; place += 2) body.addProperty(fields[place], fields[place + 1]);
        return body;
    }

    private static void fail(String text) {
        System.err.println(text);
        System.exit(1);
    }
}
