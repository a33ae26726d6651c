public import CountersignAMQP
import CountersignMessages
import CountersignTelemetry

/// Complete verifications: start, SMS and check, through coordinator and workers, with the provider in this process.
public struct VerificationLoad: Sendable {
  /// Measurements of a run.
  public struct Result: Sendable, Hashable, Encodable {
    /// Number of approved verifications.
    public let approved: Int
    /// Numbers of failures, by error code.
    public let failed: [String: Int]
    /// SMS to numbers that had one already.
    public let repeated: Int
    /// Approved verifications per second.
    public let rate: Double
    /// Latency from publishing the command to the arrival of the request at the provider.
    public let commandToProvider: LatencySummary?
    /// Latency from publishing the command to the approval.
    public let whole: LatencySummary?

    enum CodingKeys: String, CodingKey {
      case approved, failed, repeated, commandToProvider, whole
      case rate = "perSecond"
    }
  }

  private let load: CommandLoad
  private let app: String
  /// Index of the run's first number.
  private let firstNumber: Int

  /// - Parameters:
  ///   - endpoint: broker, with a user that may send commands.
  ///   - app: app in mode `trusted`.
  ///   - providerPort: loopback port that the workers' lane sends its requests to.
  ///   - firstNumber: index of the first number; other runs within ten minutes need other numbers.
  public init(endpoint: BrokerEndpoint, app: String, providerPort: UInt16, firstNumber: Int) {
    load = CommandLoad(endpoint: endpoint, providerPort: providerPort)
    self.app = app
    self.firstNumber = firstNumber
  }

  /// Measures a number of verifications.
  public func run(count: Int, _ pace: LoadPace) async throws -> Result {
    let tally = LoadTally()
    let (took, provider) = try await load.run(count: count, pace) { await verify($0, $1, $2, tally) }
    return Result(
      approved: tally.done, failed: tally.failed, repeated: provider.messages.repeated,
      rate: Double(tally.done) / took.inSeconds, commandToProvider: tally.first, whole: tally.whole)
  }

  private func verify(
    _ index: Int, _ client: RequestClient, _ provider: LoadProvider, _ tally: LoadTally
  ) async {
    let number = BenchmarkNumbers.number(at: firstNumber + index)
    let begun = ContinuousClock.now
    do {
      let start = StartVerification(phoneNumber: number, app: app, languageCode: "en")
      let started = try await CommandLoad.ask(start, client)
      guard let arrival = await provider.messages.next(for: number) else { return tally.fail("NO_MESSAGE") }
      _ = try await CommandLoad.ask(
        CheckVerification(verificationID: started.verificationID, code: SecretField(Secret(arrival.content))), client)
      tally.add(first: arrival.at - begun, whole: .now - begun)
    } catch {
      tally.fail(error)
    }
  }
}
