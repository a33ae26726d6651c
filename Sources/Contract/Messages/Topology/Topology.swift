/// The names on the broker. What is declared under them is in `Config/rabbitmq/`.
public enum Topology {
  /// The exchanges.
  public enum Exchanges {
    /// Requests to the coordinator; direct, by the name of the command.
    public static let commands = "countersign.commands"
    /// Requests to the workers; direct, by the type of the job.
    public static let jobs = "countersign.jobs"
    /// What became of the jobs; topic, `<queue of the job>.<outcome>`.
    public static let results = "countersign.results"
    /// What has changed; topic, `<event>`.
    public static let events = "countersign.events"
    /// What could not be processed; direct, by the name of the queue it failed on.
    public static let dead = "countersign.dead"
    /// The broker's own exchange that routes to a queue by its name; for replies.
    public static let direct = ""
  }

  /// The work queues.
  public enum Queues {
    /// What the coordinator is asked to do.
    public static let commands = "coordinator.commands"
    /// Empty. Whose connection consumes it, as the only one, may consume the commands: a second coordinator is refused.
    public static let commandsLock = "coordinator.commands.lock"
    /// What became of the jobs, for the coordinator.
    public static let results = "coordinator.results"
    /// Messages to be sent.
    public static let smsDispatch = "sms.dispatch"
    /// Secrets to be pushed to devices.
    public static let pushVerify = "push.verify"
    /// reCAPTCHA tokens to be assessed.
    public static let recaptchaAssess = "recaptcha.assess"
    /// Mail to be sent.
    public static let mailRelay = "mail.relay"
    /// Tokens of Sign in with Apple to be revoked.
    public static let appleRevoke = "apple.revoke"

    /// Messages that can wait: jobs of the type `sms.dispatch` too, apart so that they hold up no code.
    public static let smsBulk = "sms.bulk"

    /// The queues that are named after the type of the jobs that they take.
    public static let jobTypes = [smsDispatch, pushVerify, recaptchaAssess, mailRelay, appleRevoke]

    /// The queues of the workers, each bound under its name.
    public static let jobs = jobTypes + [smsBulk]

    /// Every work queue of this version.
    public static let work = [commands, results] + jobs

    /// Commands to `accounts`.
    public static let accountsCommands = "accounts.commands"
    /// Outcome of operations that `accounts` has asked for: the events `operation.…`.
    public static let accountsOperations = "accounts.operations"
    /// The queues of `accounts`. No version runs it yet, so no command and no event is bound to them: a command is returned to its
    /// sender, and no event waits for a reader that does not come.
    public static let accounts = [accountsCommands, accountsOperations, accountsReplies]

    /// Where the messages of a work queue end that cannot be processed.
    public static func dead(_ queue: String) -> String {
      queue + ".dead"
    }

    /// Queue of `accounts` for the replies to its commands.
    public static let accountsReplies = "accounts.replies"

    /// Begin of the names of the queues that a user of the broker may own.
    public static func ownPrefix(of user: String) -> String {
      "countersign.reply.\(user)."
    }

    /// Queue that the broker understands as "answer on the channel that asked".
    public static let directReplyTo = "amq.rabbitmq.reply-to"
  }

  /// Every exchange, with its type.
  public static let exchanges: [(name: String, kind: String)] =
    [
      (Exchanges.commands, "direct"), (Exchanges.jobs, "direct"), (Exchanges.results, "topic"),
      (Exchanges.events, "topic"), (Exchanges.dead, "direct"),
    ] + RetryStep.allCases.map { ($0.exchange, "fanout") }

  /// The routing keys of the commands.
  public static let commands = [
    StartVerification.routingKey, CheckVerification.routingKey, GetVerificationStatus.routingKey,
    CancelVerification.routingKey, VerifyApp.routingKey, StartRevocation.routingKey, GetOperationStatus.routingKey,
    ListConversions.routingKey, LiftConversionBlock.routingKey,
    ForgetNumber.routingKey,
  ]

  /// Every binding of a queue to an exchange.
  public static let bindings: [Binding] =
    commands.map { Binding(Exchanges.commands, Queues.commands, $0) }
    + Queues.jobs.map { Binding(Exchanges.jobs, $0, $0) }
    + resultKeys.map { Binding(Exchanges.results, Queues.results, $0) }
    + RetryStep.allCases.map { Binding($0.exchange, $0.queue, "") }
    + (Queues.work + Queues.accounts).map { Binding(Exchanges.dead, Queues.dead($0), $0) }

  /// Binding keys of the reports that the coordinator takes: results of each job type, and delivery reports. Results of `sms.bulk` are not
  /// among them: the coordinator sends no such jobs, and millions of their results would stand before those of codes.
  private static let resultKeys = (Queues.jobTypes + [SMSDeliveryReport.routingKeyPrefix]).map { "\($0).*" }

  /// Bindings that an earlier version declared, and that are taken away now.
  public static let formerBindings = [Binding(Exchanges.results, Queues.results, "#")]

  /// That an exchange routes to a queue.
  public struct Binding: Sendable, Hashable {
    public let exchange: String
    public let queue: String
    public let routingKey: String

    init(_ exchange: String, _ queue: String, _ routingKey: String) {
      self.exchange = exchange
      self.queue = queue
      self.routingKey = routingKey
    }
  }
}
