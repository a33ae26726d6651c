public import CountersignAMQP
import CountersignEncoding
import CountersignMessages

/// Proofs of apps: `app.verify`, its receipt, and the silent push with the secret, through coordinator and push-worker,
/// with the device in this process.
public struct ProofLoad: Sendable {
  /// Measurements of a run.
  public struct Result: Sendable, Hashable, Encodable {
    /// Number of apps with receipt and secret.
    public let proven: Int
    /// Numbers of failures, by error code.
    public let failed: [String: Int]
    /// Pushes to devices that had one already. Harmless, and absent without a failure.
    public let repeated: Int
    /// Proofs per second.
    public let rate: Double
    /// Latency from publishing the command to its reply with the receipt.
    public let commandToReceipt: LatencySummary?
    /// Latency from publishing the command to the arrival of the push at the device.
    public let commandToDevice: LatencySummary?

    enum CodingKeys: String, CodingKey {
      case proven, failed, repeated, commandToReceipt, commandToDevice
      case rate = "perSecond"
    }
  }

  private let load: CommandLoad
  private let app: String
  /// Number of the run's first device.
  private let firstDevice: Int

  private static let deviceDigits = 64

  /// - Parameters:
  ///   - endpoint: broker, with a user that may send commands.
  ///   - app: app that pushes are sent to.
  ///   - providerPort: loopback port that the front of the push-worker's lane forwards pushes to.
  ///   - firstDevice: number of the first device token; other runs within an hour need other devices.
  public init(endpoint: BrokerEndpoint, app: String, providerPort: UInt16, firstDevice: Int) {
    load = CommandLoad(endpoint: endpoint, providerPort: providerPort)
    self.app = app
    self.firstDevice = firstDevice
  }

  /// Measures a number of proofs.
  public func run(count: Int, _ pace: LoadPace) async throws -> Result {
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
      // A push may overtake the reply; the app needs both.
      tally.add(first: replied - begun, whole: max(push.at, replied) - begun)
    } catch {
      tally.fail(error)
    }
  }

  private static func device(_ index: Int) -> String {
    Hexadecimal.text(UInt64(index), width: deviceDigits)
  }
}
