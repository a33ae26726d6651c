import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import JobEngine
import ServiceRuntime

/// A provider of the revocation-worker: one `type` of the entries of `lanes`. An instance holds the keys of one entry.
///
/// A provider is a folder next to this file, a line in ``RevocationProviders/all``, and its table in
/// `Config/providers/`.
protocol RevocationProvider: Sendable {
  /// `type` of the provider's lanes in the configuration.
  static var typeName: String { get }

  static var table: ProviderTables.Source { get }

  /// Reads the provider's own keys of an entry. Problems are reported to the section, so reading cannot fail.
  init(_ section: ConfigurationSection)

  /// Clients whose tokens the lane revokes.
  var clients: [RevocationClient] { get }

  func makeLane(_ context: RevocationLaneContext) throws(WorkerError) -> any RevocationLane
}

/// Registry of the providers that the worker ships with.
enum RevocationProviders {
  /// All of them; the first one is the default.
  static let all: [any RevocationProvider.Type] = [AppleProvider.self]
}

/// Parts of the worker that a provider makes its lane from.
struct RevocationLaneContext: Sendable {
  let name: String
  let table: ProviderTable
  let http: any HTTPCaller
  let clock: any WallClock
  /// Maximum time for the answer to a probe.
  var probeTimeout: Duration = .seconds(5)
}

/// The holder of a token, and the app it uses.
struct RevocationClient: Sendable, Hashable {
  let app: String
  let clientID: String
}

/// One account that tokens are revoked with.
protocol RevocationLane: Sendable {
  var name: String { get }

  /// Carries out one step of a job, once.
  func perform(_ call: RevocationCall, _ attempt: JobAttempt) async -> Classification

  /// Asks whether the lane works again.
  func probe() async -> ProbeResult
}

/// One step of a job.
struct RevocationCall: Sendable {
  let step: RevocationJob.Step
  /// Earlier calls of the job with an unknown outcome.
  var unknownCalls = 0
  /// Writes the next stage of the job; `nil` for a step that yields no token.
  var nextStage: NextStageWriter?
}

/// Writes the next stage of a job: the same job with the token in the place of the code.
struct NextStageWriter: Sendable {
  /// A token that a code was exchanged for.
  enum Token: Sendable {
    case refreshToken(Secret)
    /// There was no refresh token; revoking this one ends the grant as well.
    case accessToken(Secret)
  }

  let job: RevocationJob
  let jobID: String
  let deadline: UnixTime
  let sealer: Sealer

  static func id(of jobID: String) -> String { jobID + ".revoke" }

  func outcome(_ token: Token) -> Classification {
    let id = Self.id(of: jobID)
    do {
      let sealed: AppleToken
      switch token {
      case .refreshToken(let secret): sealed = .refreshToken(try seal(secret, id))
      case .accessToken(let secret): sealed = .accessToken(try seal(secret, id))
      }
      let next = AppleRevokeJob(app: job.app, clientID: job.clientID, token: sealed, deadline: deadline)
      return .continued(as: NextStage(messageID: id, body: try next.json()))
    } catch {
      // Larger than a message, or the keys cannot seal: there is no safe place for the token.
      return .lost(.lost)
    }
  }

  private func seal(_ token: Secret, _ id: String) throws -> SecretField {
    try sealer.seal(token, for: SealContext(messageType: AppleRevokeJob.type, messageID: id, recipient: job.app))
  }
}
