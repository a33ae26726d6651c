internal import CountersignAMQP
internal import CountersignMessages
internal import Mail

/// What the commands reach: the broker and, through it, the other processes.
protocol OperatorBackend: Sendable {
  /// Lends the management API of the broker.
  func withManagement<Result: Sendable>(
    _ body: (ManagementAPI) async throws(OperationsError) -> Result
  ) async throws(OperationsError) -> Result

  /// Lends a connection for dead letters, and closes it, which returns all that was taken and not removed.
  func withDeadQueue(
    _ body: (any DeadQueue) async throws(OperationsError) -> DeadLetters.Outcome
  ) async throws(OperationsError) -> DeadLetters.Outcome

  /// Sends a command to the coordinator and waits for its reply.
  func send<C: Command>(_ command: C, timeout: Duration) async throws(OperationsError) -> C.Reply

  /// Sends a command for operators to the coordinator, as one, and waits for its reply.
  func sendAsOperator<C: Command>(_ command: C, timeout: Duration) async throws(OperationsError) -> C.Reply

  /// Gives a job to its worker and waits for the result.
  func enqueue(_ job: EnqueuedJob, timeout: Duration) async throws(OperationsError) -> JobResult

  /// Where the broker is, for another service and for an operator.
  func endpoints() throws(OperationsError) -> (service: BrokerEndpoint, operatorUser: BrokerEndpoint)

  /// The configuration of the mail-worker.
  /// - Parameter file: where it is; in the directory of the configuration files if `nil`.
  func mailConfiguration(file: String?) throws(OperationsError) -> MailWorkerConfiguration

  /// What is wrong with the senders of mail.
  func diagnoseMail(_ configuration: MailWorkerConfiguration, timeout: Duration) async -> [Finding]

  /// What is wrong with the installation.
  func diagnose(configDirectory: String?, timeout: Duration) async -> [Finding]
}

/// A job as it was given on the command line, checked.
struct EnqueuedJob: Sendable {
  let type: MessageType
  let messageID: String
  let body: [UInt8]
  /// Where it goes, if not to the queue that is named after its type.
  var queue: String? = nil
}
