/// Calls of apps over HTTP: look-ups and refreshes of anonymous accounts, and whole sign-ins by phone, through gateway,
/// accounts, coordinator and workers, with the provider in this process.
public struct GatewayLoad: Sendable {
  /// Measurements of a run.
  public struct Result: Sendable, Hashable, Encodable {
    /// Number of calls, or sign-ins, that succeeded.
    public let done: Int
    /// Numbers of failures, by error code.
    public let failed: [String: Int]
    /// SMS to numbers that had one already.
    public let repeated: Int
    /// Successes per second.
    public let rate: Double
    /// Latency from the first request to the arrival of the SMS at the provider. Of sign-ins only.
    public let requestToProvider: LatencySummary?
    /// Latency from the first request to the last answer.
    public let whole: LatencySummary?

    enum CodingKeys: String, CodingKey {
      case done, failed, repeated, requestToProvider, whole
      case rate = "perSecond"
    }
  }

  private let url: String
  private let apiKey: String
  private let app: String

  private static let maxConnections = 512
  private static let signUpsInProgress = 16

  /// - Parameters:
  ///   - url: address of the gateway.
  ///   - apiKey: API key of a project.
  ///   - app: app of the project that needs no proof: one in mode `trusted`, in development.
  public init(url: String, apiKey: String, app: String) {
    (self.url, self.apiKey, self.app) = (url, apiKey, app)
  }

  /// Measures look-ups.
  /// - Parameter accounts: number of accounts that they are spread over, made beforehand.
  public func lookUps(count: Int, accounts: Int, _ pace: LoadPace) async throws -> Result {
    try await calls(count, accounts, pace) { try await $0.lookUp($1.idToken) }
  }

  /// Measures refreshes.
  /// - Parameter accounts: number of accounts that they are spread over, made beforehand.
  public func refreshes(count: Int, accounts: Int, _ pace: LoadPace) async throws -> Result {
    try await calls(count, accounts, pace) { try await $0.refresh($1.refreshToken) }
  }

  /// Measures sign-ins: code sent, SMS, code entered, account made.
  /// - Parameters:
  ///   - providerPort: loopback port that the workers' lane sends its requests to.
  ///   - firstNumber: index of the first number; other runs on the same stores need other numbers.
  public func signIns(count: Int, providerPort: UInt16, firstNumber: Int, _ pace: LoadPace) async throws -> Result {
    let tally = LoadTally()
    let provider = LoadProvider()
    let took = try await provider.serving(port: providerPort) {
      try await connected { client in
        try await pace.measure(count) { index in
          await signIn(BenchmarkNumbers.number(at: firstNumber + index), client, provider, tally)
        }
      }
    }
    return result(tally, took, requestToProvider: tally.first, repeated: provider.messages.repeated)
  }

  private func signIn(
    _ number: String, _ client: GatewayClient, _ provider: LoadProvider, _ tally: LoadTally
  ) async {
    let begun = ContinuousClock.now
    do {
      let session = try await client.sendCode(number)
      guard let arrival = await provider.messages.next(for: number) else { return tally.fail("NO_MESSAGE") }
      _ = try await client.signIn(session, arrival.content)
      tally.add(first: arrival.at - begun, whole: .now - begun)
    } catch {
      tally.fail(error)
    }
  }

  private func calls(
    _ count: Int, _ accounts: Int, _ pace: LoadPace,
    _ call: @escaping @Sendable (GatewayClient, GatewayClient.SignedIn) async throws -> Void
  ) async throws -> Result {
    let tally = LoadTally()
    let took = try await connected { client in
      let users = try await signUp(accounts, client)
      return try await pace.measure(count) { index in
        let begun = ContinuousClock.now
        do {
          try await call(client, users[index % users.count])
          tally.add(first: .now - begun, whole: .now - begun)
        } catch {
          tally.fail(error)
        }
      }
    }
    return result(tally, took, requestToProvider: nil, repeated: 0)
  }

  private func signUp(_ count: Int, _ client: GatewayClient) async throws -> [GatewayClient.SignedIn] {
    try await withThrowingTaskGroup(of: GatewayClient.SignedIn.self) { group in
      var users: [GatewayClient.SignedIn] = []
      for index in 0..<count {
        if index >= Self.signUpsInProgress, let user = try await group.next() { users.append(user) }
        group.addTask { try await client.signUp() }
      }
      for try await user in group { users.append(user) }
      return users
    }
  }

  private func connected<Output: Sendable>(
    _ body: (GatewayClient) async throws -> Output
  ) async throws -> Output {
    let client = try GatewayClient(url: url, apiKey: apiKey, app: app, connections: Self.maxConnections)
    do {
      let output = try await body(client)
      await client.shutdown()
      return output
    } catch {
      await client.shutdown()
      throw error
    }
  }

  private func result(
    _ tally: LoadTally, _ took: Duration, requestToProvider: LatencySummary?, repeated: Int
  ) -> Result {
    Result(
      done: tally.done, failed: tally.failed, repeated: repeated, rate: Double(tally.done) / took.inSeconds,
      requestToProvider: requestToProvider, whole: tally.whole)
  }
}
