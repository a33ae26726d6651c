/// Calls of apps over HTTP: look-ups and refreshes of anonymous accounts, and whole sign-ins by phone, through gateway,
/// accounts, coordinator and workers, with the provider in this process.
package struct GatewayLoad: Sendable {
  private let url: String
  private let apiKey: String
  private let app: String

  private static let maxConnections = 512
  private static let signUpsInProgress = 16

  /// - Parameter app: app of the project that needs no proof: one in mode `trusted`, in development.
  package init(url: String, apiKey: String, app: String) {
    (self.url, self.apiKey, self.app) = (url, apiKey, app)
  }

  /// Measures look-ups, spread over a number of accounts that are made beforehand.
  package func lookUps(_ count: Int, accounts: Int, _ pace: LoadPace) async throws -> LoadResult {
    try await calls(count, accounts, pace) { try await $0.lookUp($1.idToken) }
  }

  /// Measures refreshes, as look-ups.
  package func refreshes(_ count: Int, accounts: Int, _ pace: LoadPace) async throws -> LoadResult {
    try await calls(count, accounts, pace) { try await $0.refresh($1.refreshToken) }
  }

  /// Measures sign-ins: code sent, SMS, code entered, account made.
  /// - Parameter first: index of the first number; other runs on the same stores need other numbers.
  package func signIns(_ count: Int, providerPort: UInt16, first: Int, _ pace: LoadPace) async throws -> LoadResult {
    let (tally, provider) = (LoadTally(), LoadProvider())
    let took = try await provider.serving(port: providerPort) {
      try await connected { client in
        try await pace.measure(count) { index in
          await tally.time {
            let number = BenchmarkNumbers.number(at: first + index)
            let session = try await client.sendCode(number)
            let arrival = try await provider.messages.arrival(for: number)
            _ = try await client.signIn(session, arrival.content)
            return (arrival.at, .now)
          }
        }
      }
    }
    return tally.result(in: took, repeated: provider.repeated)
  }

  private func calls(
    _ count: Int, _ accounts: Int, _ pace: LoadPace,
    _ call: @escaping @Sendable (GatewayClient, GatewayClient.SignedIn) async throws -> Void
  ) async throws -> LoadResult {
    let tally = LoadTally()
    let took = try await connected { client in
      let users = try await signUp(accounts, client)
      return try await pace.measure(count) { index in
        await tally.time {
          try await call(client, users[index % users.count])
          return (nil, .now)
        }
      }
    }
    return tally.result(in: took)
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
}
