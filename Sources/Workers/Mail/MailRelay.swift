import CountersignCryptography
public import CountersignMessages
public import CountersignTelemetry
public import JobEngine
import ServiceRuntime

/// The mail worker's part of the engine, made from its configuration.
public struct MailRelay: Sendable {
  /// Carries out `mail.relay` jobs.
  public let handler: MailJobHandler
  /// Carries out `mail.forget` jobs.
  public let forgetting: ForgetJobHandler
  /// Lanes in the order in which they are tried.
  public let lanes: [LaneConfiguration]
  private let ways: [SMTPLane]
  private let suppressions: SuppressionList

  /// - Parameters:
  ///   - configuration: checked configuration.
  ///   - logger: log for problems besides those of jobs.
  ///   - metrics: registry of the metrics.
  /// - Throws: a problem that the operator has to fix: keys, certificates, the file of the suppression list.
  public init(
    _ configuration: MailWorkerConfiguration, logger: Logger, metrics: MetricsRegistry
  ) async throws(WorkerError) {
    guard let table = configuration.table else {
      throw WorkerError(.invalidConfiguration, "providersDirectory: \(ReplyTable.file) has problems")
    }
    let signer = try Self.signer()
    let writer = MailWriter(signer: signer)
    let counts = SMTPMetrics(metrics, lanes: configuration.lanes.map(\.lane.name), table)
    var ways: [SMTPLane] = []
    for entry in configuration.lanes {
      guard let client = try entry.provider?.client(entry) else {
        throw WorkerError(.invalidConfiguration, "lanes: \(entry.lane.name) has no provider")
      }
      ways.append(
        SMTPLane(name: entry.lane.name, submitter: client, writer: writer, table: table, metrics: counts))
    }
    self.ways = ways
    self.lanes = configuration.lanes.map(\.lane)
    suppressions = try await SuppressionList.open(configuration.suppressions)
    forgetting = ForgetJobHandler(suppressions: suppressions)
    handler = MailJobHandler(
      lanes: ways, policy: try Self.policy(configuration, signer), suppressions: suppressions, logger: logger)
  }

  /// Closes the connections and the suppression list.
  public func shutdown() async {
    for way in ways { await way.shutdown() }
    await suppressions.close()
  }

  /// Writes the mail of a job without sending it.
  ///
  /// - Parameters:
  ///   - job: job; sealed values are opened with the worker's keys.
  ///   - messageID: ID the job would have.
  ///   - date: date for the field `Date`.
  ///   - configuration: checked configuration.
  /// - Returns: header and body, signed; or the reason why the worker would not send it.
  /// - Throws: a problem that the operator has to fix.
  public static func preview(
    _ job: MailRelayJob, messageID: String, date: UnixTime, _ configuration: MailWorkerConfiguration
  ) throws(WorkerError) -> Result<[UInt8], PreviewRefused> {
    let signer = try signer()
    switch try policy(configuration, signer).mail(for: job, messageID: messageID) {
    case .invalid(let problem): return .failure(PreviewRefused("\(problem.code): \(problem)"))
    case .refused(let reason): return .failure(PreviewRefused(reason.description))
    case .mail(let mail):
      do {
        let identity = MessageIdentity(sender: SenderRule.unnamed, messageID: messageID)
        return .success(try MailWriter(signer: signer).write(mail, job: identity, date: date))
      } catch {
        throw WorkerError(.invalidConfiguration, "senders: \(error)")
      }
    }
  }

  /// Connects to every lane's server and authenticates there.
  ///
  /// - Returns: the names of the lanes, each with its problem.
  public static func checkServers(
    _ configuration: MailWorkerConfiguration, timeout: Duration
  ) async -> [(lane: String, problem: String?)] {
    var results: [(lane: String, problem: String?)] = []
    for entry in configuration.lanes {
      results.append((entry.lane.name, await entry.check(timeout: timeout)))
    }
    return results
  }

  /// Reason why the worker would not send a mail.
  public struct PreviewRefused: Error, Sendable, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
      self.description = description
    }
  }
}

extension MailRelay {
  private static func signer() throws(WorkerError) -> DKIMSigner {
    do {
      return try DKIMSigner()
    } catch {
      throw WorkerError(.invalidConfiguration, error.description)
    }
  }

  private static func policy(
    _ configuration: MailWorkerConfiguration, _ signer: DKIMSigner
  ) throws(WorkerError) -> MailPolicy {
    var senders: [Sender] = []
    for settings in configuration.senders { senders.append(try settings.sender(signer: signer)) }
    return MailPolicy(senders: senders, relay: configuration.relay, composer: try composer(configuration))
  }

  private static func composer(_ configuration: MailWorkerConfiguration) throws(WorkerError) -> MailComposer {
    guard let templates = configuration.templates.templates else {
      throw WorkerError(.invalidConfiguration, "templates.directory: the templates have problems")
    }
    do {
      let keys = if let keys = configuration.common.keys { keys } else { try KeyRing(sealing: nil) }
      return MailComposer(templates: templates, keys: keys, appName: configuration.templates.appName)
    } catch {
      throw WorkerError(.invalidConfiguration, "no key ring can be made: \(error)")
    }
  }
}
