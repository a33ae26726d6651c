/// Names on the broker. `Config/rabbitmq/` declares the objects that have them.
public enum Topology {
  /// Exchanges.
  public enum Exchanges {
    /// Requests to the coordinator, to `accounts` and to the `webhook-worker`. Direct, by the name of the command.
    public static let commands = "countersign.commands"
    /// Requests to the workers. Direct, by the type of the job.
    public static let jobs = "countersign.jobs"
    /// Results of jobs, and delivery reports. Topic, `<queue of the job>.<outcome>`.
    public static let results = "countersign.results"
    /// Events. Topic, `<event>`.
    public static let events = "countersign.events"
    /// Dead letters. Direct, by the name of the queue on which they failed.
    public static let dead = "countersign.dead"
    /// Jobs whose retry delay is over, from the broker. Direct, by the queue they return to. Jobs that no queue takes
    /// go to ``dead``, its alternate exchange.
    public static let delayed = "countersign.delayed"

    /// Jobs of a work queue that are to be delayed. Direct, by the delay: `5s`.
    public static func retry(_ queue: String) -> String { Queues.retryPrefix + queue }

    /// The broker's default exchange, which routes to a queue by its name. For replies.
    public static let direct = ""
  }

  /// Queues.
  public enum Queues {
    /// Commands to the coordinator.
    public static let commands = "coordinator.commands"
    /// Empty queue with an exclusive consumer. Its consumer may consume the commands: a second coordinator is refused.
    public static let commandsLock = "coordinator.commands.lock"
    /// Results and delivery reports for the coordinator.
    public static let results = "coordinator.results"
    /// SMS to send.
    public static let smsDispatch = "sms.dispatch"
    /// Secrets to push to devices.
    public static let pushVerify = "push.verify"
    /// reCAPTCHA tokens to assess.
    public static let recaptchaAssess = "recaptcha.assess"
    /// Mail to send.
    public static let mailRelay = "mail.relay"
    /// Addresses to forget.
    public static let mailForget = "mail.forget"
    /// Sign in with Apple tokens to revoke.
    public static let appleRevoke = "apple.revoke"

    /// SMS that can wait: jobs of the type `sms.dispatch` in a queue of their own, so that they do not delay codes.
    public static let smsBulk = "sms.bulk"

    /// Queues named after the type of their jobs.
    public static let jobTypes = [smsDispatch, pushVerify, recaptchaAssess, mailRelay, mailForget, appleRevoke]

    /// Queues of jobs whose results are not waited for: millions of `sms.bulk` would delay those of codes, and `accounts`
    /// sends `mail.forget` without waiting.
    public static let unreported = [mailForget, smsBulk]

    /// Queues of the workers, each bound with its name.
    public static let jobs = jobTypes + [smsBulk]

    /// Work queues of the coordinator and the workers.
    public static let work = [commands, results] + jobs

    /// Prefix of the queues of delayed jobs, and of no other queue.
    public static let retryPrefix = "countersign.retry."

    /// Queue of the jobs of a work queue that wait for a retry delay.
    public static func retry(_ queue: String, _ step: RetryStep) -> String {
      "\(Exchanges.retry(queue)).\(step.rawValue)"
    }

    /// Commands to `accounts`.
    public static let accountsCommands = "accounts.commands"
    /// Empty queue with an exclusive consumer, as ``commandsLock`` is for the coordinator.
    public static let accountsCommandsLock = "accounts.commands.lock"
    /// Work queues of `accounts`.
    public static let accounts = [accountsCommands, accountsReplies]

    /// Commands to the `webhook-worker`.
    public static let webhookCommands = "webhook.commands"
    /// Empty queue with an exclusive consumer, as ``commandsLock`` is for the coordinator.
    public static let webhookCommandsLock = "webhook.commands.lock"
    /// All events from the first start of a `webhook-worker` on, which binds it. The broker has one consumer at a time
    /// take them, in their order, and drops the oldest of a full queue.
    public static let webhookEvents = "webhook.events"
    /// Work queues of the `webhook-worker`.
    public static let webhooks = [webhookCommands, webhookEvents]
    /// Work queues of all services beside the coordinator.
    public static let services = accounts + webhooks

    /// Queues whose one consumer may consume the commands of a service that runs once.
    public static let locks = [commandsLock, accountsCommandsLock, webhookCommandsLock]

    /// Queue for the dead letters of a work queue.
    public static func dead(_ queue: String) -> String {
      queue + ".dead"
    }

    /// Queue of `accounts` for the replies to its commands.
    public static let accountsReplies = "accounts.replies"

    /// Prefix of the queues that a broker user may own.
    public static func ownPrefix(of user: String) -> String {
      "countersign.reply.\(user)."
    }

    /// Queue that keeps events for a service while it is away. The operator declares it.
    public static func events(of user: String) -> String { "countersign.events.\(user)" }

    /// Pseudo-queue of the broker for replies on the requesting channel.
    public static let directReplyTo = "amq.rabbitmq.reply-to"
  }

  /// Every exchange, with its type.
  public static let exchanges: [(name: String, kind: String)] =
    [
      (Exchanges.commands, "direct"), (Exchanges.jobs, "direct"), (Exchanges.results, "topic"),
      (Exchanges.events, "topic"), (Exchanges.dead, "direct"), (Exchanges.delayed, "direct"),
    ] + Queues.jobs.map { (Exchanges.retry($0), "direct") }

  /// Routing keys of the commands to the coordinator.
  public static let commands = [
    StartVerification.routingKey, CheckVerification.routingKey, GetVerificationStatus.routingKey,
    FindVerifications.routingKey, CancelVerification.routingKey, VerifyApp.routingKey, StartRevocation.routingKey,
    ConfirmRevocation.routingKey, GetOperationStatus.routingKey, ListConversions.routingKey,
    LiftConversionBlock.routingKey, ForgetNumber.routingKey, ResetDevelopment.routingKey, NoteAct.routingKey,
    ListOperatorActs.routingKey,
  ]

  /// Routing keys of the commands to `accounts`.
  public static let accountsCommands = [
    SignInWithPhone.routingKey, SignUp.routingKey, LookUpAccount.routingKey, UpdateAccount.routingKey,
    DeleteAccount.routingKey, SignInWithIDP.routingKey, RevokeToken.routingKey, RefreshSession.routingKey,
    GetKeys.routingKey, RotateKeys.routingKey, ResetAccounts.routingKey, SignInWithPassword.routingKey,
    SignInWithCustomToken.routingKey, FindMethods.routingKey, SendMailLink.routingKey, ApplyMailLink.routingKey,
    SignInWithMailLink.routingKey, GrantAccess.routingKey, CreateAccount.routingKey, ChangeAccount.routingKey,
    FindAccounts.routingKey, ListAccounts.routingKey, RemoveAccounts.routingKey, ImportAccounts.routingKey,
    CreateSessionCookie.routingKey, ProjectSettingsCommand.routingKey, SetServiceAccount.routingKey,
    ListServiceAccounts.routingKey, ListActs.routingKey, StartIDPSignIn.routingKey, SetProvider.routingKey,
    FindProviders.routingKey, StartServiceVerification.routingKey, CheckServiceVerification.routingKey,
    GetServiceVerification.routingKey, CancelServiceVerification.routingKey,
    NoteApple.routingKey, StartSecondFactor.routingKey, FinishSecondFactor.routingKey,
    WithdrawSecondFactor.routingKey, RecordConsent.routingKey,
  ]

  /// Routing keys of the commands to the `webhook-worker`.
  public static let webhookCommands = [
    AddWebhook.routingKey, ListWebhooks.routingKey, RemoveWebhook.routingKey, EnableWebhook.routingKey,
    ReplayWebhook.routingKey,
  ]

  /// Routing keys of the events.
  public static let events = [
    VerificationDelivered.routingKey, VerificationUndelivered.routingKey,
    VerificationStarted.routingKey, VerificationSent.routingKey, VerificationApproved.routingKey,
    VerificationFailed.routingKey, VerificationExpired.routingKey, VerificationCanceled.routingKey,
    AppVerified.routingKey, AppUnverified.routingKey, OperationStarted.routingKey, OperationCompleted.routingKey,
    OperationFailed.routingKey, ConversionBlocked.routingKey, ConversionLifted.routingKey, AccountCreated.routingKey,
    AccountUpdated.routingKey, AccountDeleted.routingKey, AccountSignIn.routingKey, AccountLinked.routingKey,
    AccountUnlinked.routingKey, AppleNotified.routingKey, SecondFactorEnrolled.routingKey,
    SecondFactorWithdrawn.routingKey, ConsentChanged.routingKey, AccountErased.routingKey,
    AdministratorActed.routingKey, KeysPublished.routingKey,
  ]

  /// Every binding of a queue to an exchange.
  public static let bindings: [Binding] =
    commands.map { Binding(Exchanges.commands, Queues.commands, $0) }
    + accountsCommands.map { Binding(Exchanges.commands, Queues.accountsCommands, $0) }
    + webhookCommands.map { Binding(Exchanges.commands, Queues.webhookCommands, $0) }
    + Queues.jobs.map { Binding(Exchanges.jobs, $0, $0) }
    + resultKeys.map { Binding(Exchanges.results, Queues.results, $0) } + delayBindings + deadBindings

  private static let delayBindings = Queues.jobs.flatMap { queue in
    let delays = RetryStep.allCases.map { Binding(Exchanges.retry(queue), Queues.retry(queue, $0), $0.rawValue) }
    return delays + [Binding(Exchanges.delayed, queue, queue)]
  }

  private static let deadBindings = (Queues.work + Queues.services).map { queue in
    Binding(Exchanges.dead, Queues.dead(queue), queue)
  }

  private static let resultKeys =
    (Queues.jobs.filter { !Queues.unreported.contains($0) } + [SMSDeliveryReport.routingKeyPrefix]).map { "\($0).*" }

  /// Binding of a queue to an exchange.
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
