// Verifies a phone number: node verify.mjs start NUMBER APP, then node verify.mjs check ID CODE APP.
// COUNTERSIGN_AMQP_URL names the broker. Library: amqplib.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import amqp from "amqplib";

const deadlineSeconds = 30;
const tries = 3;

/** Error reply to a command. `retryAfter` are seconds, or undefined where waiting does not help. */
class Refused extends Error {
  constructor({ code, message, reason, retryAfter }) {
    super(`${code}: ${message}${retryAfter === undefined ? "" : `; again in ${retryAfter} s`}`);
    Object.assign(this, { code, reason, retryAfter });
  }
}

/** No queue takes the command: it is misspelled, or the topology is missing. */
class Returned extends Error {}

/** No reply within the deadline. The command may have been carried out: it is repeated under its ID. */
class Unanswered extends Error {}

async function askOnce(command, body, id) {
  const connection = await amqp.connect(process.env.COUNTERSIGN_AMQP_URL);
  let timer;
  try {
    const channel = await connection.createChannel();
    const answer = new Promise((resolve, reject) => {
      timer = setTimeout(() => reject(new Unanswered(`no reply to ${command} within ${deadlineSeconds} s`)), deadlineSeconds * 1000);
      connection.on("error", reject);
      connection.on("close", () => reject(new Unanswered("the connection was closed")));
      channel.on("error", reject);
      channel.on("return", (message) => reject(new Returned(`no queue takes ${command}: ${message.fields.replyText}`)));
      // Direct reply-to: consumed on the channel that publishes, without acknowledgements.
      channel.consume("amq.rabbitmq.reply-to", (reply) => {
        if (reply?.properties.correlationId === id) resolve(reply);
      }, { noAck: true }).then(() => channel.publish("countersign.commands", command, Buffer.from(JSON.stringify(body)), {
        type: `${command}.v1`, messageId: id, correlationId: id, replyTo: "amq.rabbitmq.reply-to", mandatory: true,
        contentType: "application/json", deliveryMode: 2, timestamp: Math.floor(Date.now() / 1000),
      })).catch(reject);
    });
    const reply = await answer;
    const content = JSON.parse(reply.content.toString());
    if (reply.properties.type === "error.v1") throw new Refused(content.error);
    return content;
  } finally {
    clearTimeout(timer);
    await connection.close().catch(() => {});
  }
}

/** The reply, also over a lost connection: under the same ID a command has one effect and the same answer. */
async function ask(command, body) {
  const id = randomUUID();
  for (let attempt = 1; ; attempt++) {
    try {
      return await askOnce(command, body, id);
    } catch (error) {
      if (error instanceof Refused || error instanceof Returned || attempt === tries) throw error;
      await sleep(1000 * 2 ** (attempt - 1));
    }
  }
}

const [verb, ...rest] = process.argv.slice(2);
try {
  if (verb === "start" && rest.length === 2) {
    console.log((await ask("verification.start", { phoneNumber: rest[0], app: rest[1] })).verificationID);
  } else if (verb === "check" && rest.length === 3) {
    console.log((await ask("verification.check", { verificationID: rest[0], code: rest[1], app: rest[2] })).phoneNumber);
  } else {
    throw new Error("usage: node verify.mjs start NUMBER APP | check ID CODE APP");
  }
} catch (error) {
  console.error(`${error.constructor.name}: ${error.message}`);
  process.exitCode = 1;
}
