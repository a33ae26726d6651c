public import CountersignAMQP
import CountersignEncoding
import CountersignMessages

/// Proofs of apps: `app.verify`, its receipt, and the silent push that brings the secret, over coordinator and push-worker, with the device in
/// this process.
public struct ProofLoad: Sendable {
  /// What was measured.
  public struct Result: Sendable, Hashable {
    /// Apps that have receipt and secret.
    public let proven: Int
    /// Those that have not, by the error's code.
    public let failed: [String: Int]
    /// Pushes that reached a device that had one already; harmless, and none without a disturbance.
    public let repeated: Int
    /// Proofs per second.
    public let rate: Double
    /// From the publishing of the command to its reply with the receipt.
    public let commandToReceipt: LatencySummary?
    /// From the publishing of the command to the arrival of the push at the device.
    public let commandToDevice: LatencySummary?
  }

  private let load: CommandLoad
  private let app: String
  /// The first device of the run.
  private let firstDevice: Int

  private static let deviceDigits = 64

  /// - Parameters:
  ///   - endpoint: a user who may send commands.
  ///   - app: one that is pushed to.
  ///   - providerPort: where the front of the push-worker's lane passes the pushes on to, on the loopback interface.
  ///   - firstDevice: the number of the first device token; other runs within an hour use others.
  public init(endpoint: BrokerEndpoint, app: String, providerPort: UInt16, firstDevice: Int) {
    load = CommandLoad(endpoint: endpoint, providerPort: providerPort)
    self.app = app
    self.firstDevice = firstDevice
  }

  /// As fast as it goes, with a fixed number of proofs under way.
  public func closedLoop(count: Int, underWay: Int) async throws -> Result {
    try await run(count: count, .closedLoop(underWay: underWay))
  }

  /// At a fixed rate, whatever the answers do: a late answer does not hold back the next command.
  /// - Parameter perSecond: commands per second.
  public func openLoop(count: Int, perSecond: Int) async throws -> Result {
    try await run(count: count, .openLoop(perSecond: perSecond))
  }

  private func run(count: Int, _ pace: CommandLoad.Pace) async throws -> Result {
    let tally = LoadTally()
    let (took, provider) = try await load.run(count: count, pace) { await prove($0, $1, $2, tally) }
    return Result(
      proven: tally.done, failed: tally.failed, repeated: provider.pushes.repeated,
      rate: Double(tally.done) / took.inSeconds, commandToReceipt: tally.first, commandToDevice: tally.whole)
  }

  private func prove(_ index: Int, _ client: RequestClient, _ provider: LoadProvider, _ tally: LoadTally) async {
    let device = Self.device(firstDevice + index)
    let begun = ContinuousClock.now
    do {
      let verifying = try await CommandLoad.ask(
        VerifyApp(app: app, deviceToken: device, environment: .production), client)
      let replied = ContinuousClock.now
      guard let push = await provider.pushes.next(for: device) else { return tally.fail("NO_PUSH") }
      guard push.content.receipt == verifying.receipt, !push.content.secret.isEmpty else {
        return tally.fail("WRONG_PUSH")
      }
      // A push may overtake the reply; the app has both then.
      tally.add(first: replied - begun, whole: max(push.at, replied) - begun)
    } catch {
      tally.fail(error)
    }
  }

  /// A device token of its own for each index.
  private static func device(_ index: Int) -> String {
    Hexadecimal.text(UInt64(index), width: deviceDigits)
  }
}
