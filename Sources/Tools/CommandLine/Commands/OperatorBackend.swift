import CountersignMessages
import Mail

/// The installation that the commands work on: the broker and, through it, the other processes.
protocol OperatorBackend: Sendable {
  /// Directory of the processes' configuration files, if it is known.
  var configDirectory: String? { get }

  func withManagement<Result: Sendable>(
    _ body: (ManagementAPI) async throws(CommandLineError) -> Result
  ) async throws(CommandLineError) -> Result

  /// Lends a connection for dead letters, and closes it, which returns all messages that were taken and not removed.
  func withDeadQueue(
    _ body: (any DeadQueue) async throws(CommandLineError) -> DeadLetters.Outcome
  ) async throws(CommandLineError) -> DeadLetters.Outcome

  func send<C: Command>(_ command: C, timeout: Duration) async throws(CommandLineError) -> C.Reply

  /// Sends a command to the coordinator under the operator's user, and waits for its reply.
  func sendAsOperator<C: Command>(_ command: C, timeout: Duration) async throws(CommandLineError) -> C.Reply

  /// Sends a job to its worker and waits for the result.
  func enqueue(_ job: EnqueuedJob, timeout: Duration) async throws(CommandLineError) -> JobResult

  func mailConfiguration(file: String?) throws(CommandLineError) -> MailWorkerConfiguration

  func diagnoseMail(_ configuration: MailWorkerConfiguration, timeout: Duration) async -> [Finding]

  /// Checks the PostgreSQL databases that the configuration files name.
  func diagnoseDatabases(configDirectory: String?, timeout: Duration) async -> [Finding]

  func diagnose(configDirectory: String?, timeout: Duration) async -> [Finding]
}
