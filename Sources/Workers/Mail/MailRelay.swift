import CountersignCryptography
public import CountersignMessages
public import CountersignTelemetry
import DKIM
import HTTPClient
public import JobEngine
import ServiceRuntime

/// Everything that a `mail-worker` brings to the engine, made from its configuration.
public struct MailRelay: Sendable {
  /// What carries out the jobs.
  public let handler: MailJobHandler
  /// The lanes in the order in which they are tried.
  public let lanes: [LaneConfiguration]
  private let clients: [SMTPClient]
  private let suppressions: SuppressionList

  /// - Parameters:
  ///   - configuration: The configuration, checked.
  ///   - log: What goes wrong beside the jobs.
  ///   - metrics: Where its figures are.
  /// - Throws: what an operator has to mend: keys, certificates, the file of the suppression list.
  public init(
    _ configuration: MailWorkerConfiguration, log: Logger, metrics: MetricsRegistry
  ) async throws(WorkerError) {
    guard let table = configuration.table else {
      throw WorkerError(.invalidConfiguration, "providersDirectory: smtp.json5 has problems")
    }
    let signer = try Self.signer()
    var clients: [SMTPClient] = []
    var lanes: [MailLane] = []
    let figures = MailMetrics(metrics)
    for settings in configuration.lanes {
      let client = try Self.client(settings)
      clients.append(client)
      lanes.append(MailLane(name: settings.lane.name, submitter: client, table: table, metrics: figures))
    }
    self.clients = clients
    self.lanes = configuration.lanes.map(\.lane)
    suppressions = try await SuppressionList.open(path: configuration.suppressionsPath)
    handler = MailJobHandler(
      lanes: lanes, maker: try Self.maker(configuration, signer), writer: MailWriter(signer: signer),
      suppressions: suppressions, log: log)
  }

  /// Closes the connections and the file of the suppression list.
  public func shutdown() async {
    for client in clients { client.shutdown() }
    await suppressions.close()
  }

  /// Writes the mail of a job to look at it, without sending it.
  ///
  /// - Parameters:
  ///   - job: The job; what is sealed in it is opened with the worker's keys.
  ///   - messageID: The ID that it would have.
  ///   - date: The field `Date`.
  /// - Returns: Header and body, signed; or why the worker would not send it.
  /// - Throws: what an operator has to mend.
  public static func preview(
    _ job: MailRelayJob, messageID: String, date: UnixTime, _ configuration: MailWorkerConfiguration
  ) throws(WorkerError) -> Result<[UInt8], PreviewRefused> {
    let signer = try signer()
    switch try maker(configuration, signer).make(job, messageID: messageID) {
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
  /// - Returns: The lanes' names, each with what is wrong.
  public static func checkServers(
    _ configuration: MailWorkerConfiguration, timeout: Duration
  ) async -> [(lane: String, problem: String?)] {
    var results: [(lane: String, problem: String?)] = []
    for settings in configuration.lanes {
      var problem: String?
      do {
        let client = try client(settings)
        do throws(SMTPFailure) { try await client.check(timeout: timeout) } catch { problem = error.description }
        client.shutdown()
      } catch {
        problem = error.description
      }
      results.append((settings.lane.name, problem))
    }
    return results
  }

  /// Why the worker would not send a mail.
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

  private static func maker(
    _ configuration: MailWorkerConfiguration, _ signer: DKIMSigner
  ) throws(WorkerError) -> MailMaker {
    var senders: [Sender] = []
    for settings in configuration.senders { senders.append(try settings.sender(signer: signer)) }
    return MailMaker(senders: senders, relay: configuration.relay, composer: try composer(configuration))
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

  private static func client(_ settings: MailLaneSettings) throws(WorkerError) -> SMTPClient {
    do {
      return try SMTPClient(settings.smtp)
    } catch {
      throw WorkerError(.invalidConfiguration, "lane \(settings.lane.name): \(error)")
    }
  }
}
