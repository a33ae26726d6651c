import CountersignMessages
import Mail

/// The installation that the commands work on: the broker and, through it, the other processes.
protocol OperatorBackend: Sendable {
  var configDirectory: String? { get }

  /// URL of the broker for a user, without a password.
  func brokerURL(of user: String) throws(CommandLineError) -> String

  func withManagement<Result: Sendable>(
    _ body: (ManagementAPI) async throws(CommandLineError) -> Result
  ) async throws(CommandLineError) -> Result

  /// Lends a connection for dead letters, and closes it, which returns all messages that were taken and not removed.
  func withDeadQueue<Result: Sendable>(
    _ body: (any DeadQueue) async throws(CommandLineError) -> Result
  ) async throws(CommandLineError) -> Result

  /// Lends a way to look at delayed jobs.
  func withDelayedQueues<Result: Sendable>(
    _ body: (any DelayedQueues) async throws(CommandLineError) -> Result
  ) async throws(CommandLineError) -> Result

  func send<C: Command>(_ command: C, timeout: Duration) async throws(CommandLineError) -> C.Reply

  /// Under the operator's user.
  func sendAsOperator<C: Command>(_ command: C, timeout: Duration) async throws(CommandLineError) -> C.Reply

  /// Under the operator's user, with the ID of the message, to which the secrets of the reply are bound.
  func sendForSecret<C: SecretReplyCommand>(
    _ command: C, timeout: Duration
  ) async throws(CommandLineError) -> (reply: C.Reply, id: String)

  /// Lends a connection to accounts under the operator's user, for commands with secrets, and for many in a row.
  func withAccounts<Result: Sendable>(
    _ body: @Sendable (any AccountsConnection) async throws(CommandLineError) -> Result
  ) async throws(CommandLineError) -> Result

  /// Lends a way to servers of others, as they are reached from this machine.
  /// - Parameter caFile: certificates to trust, PEM; those of the system if `nil`.
  func withProbe<Result: Sendable>(
    caFile: String?, _ body: (any HTTPProbe) async throws(CommandLineError) -> Result
  ) async throws(CommandLineError) -> Result

  func enqueue(_ job: EnqueuedJob, timeout: Duration) async throws(CommandLineError) -> JobResult

  func mailConfiguration(file: String?) throws(CommandLineError) -> MailWorkerConfiguration

  func diagnoseMail(_ configuration: MailWorkerConfiguration, timeout: Duration) async -> [Finding]

  func diagnoseDatabases(configDirectory: String?, timeout: Duration) async -> [Finding]

  func diagnose(configDirectory: String?, timeout: Duration) async -> [Finding]
}
