public import CountersignAMQP
import CountersignMessages
import CountersignTelemetry

/// Complete verifications: start, message, check, over coordinator and workers, with the provider in this process.
public struct VerificationLoad: Sendable {
  /// What was measured.
  public struct Result: Sendable, Hashable {
    /// Verifications that were approved.
    public let approved: Int
    /// Those that were not, by the error's code.
    public let failed: [String: Int]
    /// Messages that reached the provider for a number that had one already.
    public let repeated: Int
    /// Approved verifications per second.
    public let rate: Double
    /// From the publishing of the command to the arrival of the request at the provider.
    public let commandToProvider: LatencySummary?
    /// From the publishing of the command to the approval.
    public let whole: LatencySummary?
  }

  private let load: CommandLoad
  private let app: String
  /// The first number of the run: other runs within ten minutes use others.
  private let firstNumber: Int

  /// - Parameters:
  ///   - endpoint: a user who may send commands.
  ///   - app: one in mode `trusted`.
  ///   - providerPort: where the workers' lane sends its requests, on the loopback interface.
  ///   - firstNumber: where in the list of numbers to begin.
  public init(endpoint: BrokerEndpoint, app: String, providerPort: UInt16, firstNumber: Int) {
    load = CommandLoad(endpoint: endpoint, providerPort: providerPort)
    self.app = app
    self.firstNumber = firstNumber
  }

  /// As fast as it goes, with a fixed number of verifications under way.
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
