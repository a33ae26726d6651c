extension Topology {
  /// Users of the broker: one per executable, those of the services, and the operator.
  ///
  /// An installation may add users of its own for services; `Config/rabbitmq/` defines the rights of each user.
  public enum Users {
    /// Consumes commands and results, publishes jobs, replies and events.
    public static let coordinator = "coordinator"
    /// Consumes `sms.dispatch` and `sms.bulk`.
    public static let smsWorker = "sms-worker"
    /// Consumes `push.verify` and `recaptcha.assess`.
    public static let pushWorker = "push-worker"
    /// Consumes `mail.relay` and `mail.forget`.
    public static let mailWorker = "mail-worker"
    /// Consumes `apple.revoke`.
    public static let revocationWorker = "revocation-worker"
    /// Sends events by HTTP: consumes its commands and all events.
    public static let webhookWorker = "webhook-worker"
    /// Declares, redrives dead letters, and lifts blocks.
    public static let `operator` = "operator"
    /// Sends commands.
    public static let service = "service"
    /// Sends commands and jobs.
    public static let sender = "sender"
    /// Sends the commands of HTTP clients.
    public static let gateway = "gateway"
    /// Holds accounts: consumes their commands and `accounts.replies`, publishes commands, replies and events.
    public static let accounts = "accounts"

    /// User that consumes a work queue of this version. `nil` for any other queue.
    public static func consumer(of queue: String) -> String? {
      switch queue {
      case Queues.commands, Queues.results: coordinator
      case Queues.accountsCommands, Queues.accountsReplies: accounts
      case Queues.webhookCommands, Queues.webhookEvents: webhookWorker
      default: worker(ofJobs: queue)
      }
    }

    /// User of the workers that report results, or delays, of a type. `nil` for an unknown type.
    public static func worker(ofResults type: MessageType) -> String? {
      if type == SMSDeliveryReport.type { return smsWorker }
      for suffix in [".result", ".\(JobDelayed.word)"] where type.name.hasSuffix(suffix) {
        return worker(ofJobs: String(type.name.dropLast(suffix.count)))
      }
      return nil
    }

    /// User of the workers for jobs of a type, or of a queue of jobs. `nil` for an unknown type.
    public static func worker(ofJobs type: String) -> String? {
      switch type {
      case Queues.smsDispatch, Queues.smsBulk: smsWorker
      case Queues.pushVerify, Queues.recaptchaAssess: pushWorker
      case Queues.mailRelay, Queues.mailForget: mailWorker
      case Queues.appleRevoke: revocationWorker
      default: nil
      }
    }
  }
}
