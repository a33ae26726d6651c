import CountersignCryptography
import CountersignMessages
import HTTPClient
import JobEngine
import Synchronization
import TestSupport
import Testing

@testable import Push

@Suite struct APNsLaneTests {
  private let clocks = ManualClocks(Sample.now)
  private let key: SigningKey
  private let tokens: ProviderTokens

  init() throws {
    key = try Sample.key()
    tokens = ProviderTokens(teamID: "TEAM123456", key: key, life: .seconds(50 * 60))
  }

  private func lane(
    _ pool: ConnectionPool, environment: DeviceEnvironment = .production, credential: APNsLane.Credential? = nil
  ) throws -> APNsLane {
    APNsLane(
      name: "apns", api: try Sample.apnsAPI(environment, clock: clocks.wall), credential: credential ?? .tokens(tokens),
      pool: pool, clocks: clocks.clocks)
  }

  private func push(_ connections: FakeConnections, limit: Int = 1) async throws -> Classification {
    try await lane(connections.pool(limit: limit)).send(Sample.push(), Sample.attempt())
  }

  private static let lost = FakeConnection { (_) async throws(TransportError) -> HTTPResponse in
    throw TransportError(kind: .http2, requestMayHaveLeft: true, description: "gone")
  }

  /// Lets the clock run into the time-out.
  private func silent() -> FakeConnection {
    FakeConnection { [clocks] (request) async throws(TransportError) -> HTTPResponse in
      clocks.advance(by: request.timeouts.total)
      throw TransportError(kind: .timedOut(.firstByte), requestMayHaveLeft: true, description: "timed out")
    }
  }

  @Test func `The push is what Apple asks for`() async throws {
    let connections = FakeConnections([FakeConnection(200, headers: [(name: "apns-id", value: "given-by-apple")])])
    let outcome = try await push(connections)
    #expect(outcome.short == "accepted given-by-apple")
    #expect(outcome.extras == ["apnsID": "given-by-apple", "environment": "production"])
    let request = try #require(connections.requests.first)
    #expect(request.method == "POST")
    #expect(request.url == "https://apns.test/3/device/\(Sample.deviceToken)")
    #expect(request.body == Array("{}".utf8))
    let id = PushID.make(for: Sample.attempt().job)
    let expected = [
      "apns-topic": Sample.app, "apns-push-type": "background", "apns-priority": "5", "apns-expiration": "1782907260",
      "apns-id": id, "apns-collapse-id": id, "content-type": "application/json",
    ]
    for (name, value) in expected { #expect(request.headers[name] == value, "\(name)") }
    let authorization = try #require(request.headers["authorization"])
    #expect(authorization.hasPrefix("bearer "))
    #expect(throws: Never.self) { try JWS.verify(String(authorization.dropFirst(7)), with: key.verifying) }
    #expect(request.timeouts.total == .seconds(3))
  }

  @Test func `A certificate needs no token`() async throws {
    let connections = FakeConnections([FakeConnection(200)])
    let outcome = try await lane(connections.pool(), credential: .certificate).send(Sample.push(), Sample.attempt())
    #expect(outcome.short == "accepted \(PushID.make(for: Sample.attempt().job))")
    #expect(connections.requests.first?.headers["authorization"] == nil)
    #expect(tokens.made == 0)
  }

  @Test func `A refusal carries what Apple says`() async throws {
    let connections = FakeConnections([
      FakeConnection(410, #"{"reason":"Unregistered","timestamp":1782900000000}"#)
    ])
    let outcome = try await push(connections)
    #expect(outcome.short == "refused UNREGISTERED")
    #expect(outcome.reason?.providerCode == "Unregistered")
    #expect(outcome.extras == ["environment": "production", "unregisteredAt": "2026-07-01T10:00:00Z"])
    #expect(connections.requests.count == 1)
  }

  @Test func `Lost pushes are sent again at once with the same i ds`()
    async throws
  {
    let answers = Mutex(0)
    let connection = FakeConnection { (_) async throws(TransportError) -> HTTPResponse in
      let number = answers.withLock { answers in
        answers += 1
        return answers
      }
      guard number == 3 else {
        throw TransportError(kind: .http2, requestMayHaveLeft: true, description: "gone")
      }
      return HTTPResponse(status: 200)
    }
    #expect(try await push(FakeConnections([connection])).short.hasPrefix("accepted"))
    #expect(connection.requests.count == 3)
    #expect(Set(connection.requests.compactMap { $0.headers["apns-id"] }).count == 1)
    #expect(Set(connection.requests.compactMap { $0.headers["apns-collapse-id"] }).count == 1)
  }

  @Test func `A push that is always lost ends unknown`() async throws {
    let connections = FakeConnections([Self.lost])
    #expect(try await push(connections).short == "unknown NO_ANSWER")
    #expect(connections.requests.count == APNsLane.maxTries)
  }

  @Test func `A connection that never answers is replaced`() async throws {
    let connections = FakeConnections([silent(), FakeConnection(200)])
    #expect(try await push(connections).short.hasPrefix("accepted"))
    #expect(connections.opened.map(\.isShutDown) == [true, false])
    #expect(connections.opened.map(\.requests.count) == [1, 1])
  }

  @Test func `The time of the call bounds the tries`() async throws {
    let connections = FakeConnections([silent(), silent(), silent()])
    let lane = try lane(connections.pool())
    let outcome = await lane.send(Sample.push(), Sample.attempt(timeout: .seconds(4)))
    #expect(outcome.short == "unknown NO_ANSWER")
    #expect(connections.requests.map(\.timeouts.total) == [.seconds(3), .seconds(1)])
  }

  @Test func `An expired token is renewed with new connections`()
    async throws
  {
    let expired = FakeConnection(403, #"{"reason":"ExpiredProviderToken"}"#)
    let connections = FakeConnections([expired, FakeConnection(200)])
    _ = try tokens.current(now: Sample.now)
    clocks.advance(by: .seconds(21 * 60))
    #expect(try await push(connections).short.hasPrefix("accepted"))
    #expect(tokens.made == 2)
    #expect(connections.opened.count == 2)
    let shown = connections.requests.compactMap { $0.headers["authorization"] }
    #expect(Set(shown).count == 2)
    // What else was under way on the old connection is left alone.
    #expect(!expired.isShutDown)
  }

  @Test func `A young token that is called expired takes the lane down`() async throws {
    let connections = FakeConnections([FakeConnection(403, #"{"reason":"ExpiredProviderToken"}"#), FakeConnection(200)])
    let outcome = try await push(connections)
    #expect(outcome.short == "laneDown PROVIDER_TOKEN")
    #expect(outcome.reason?.detail.contains("clock") == true)
    #expect(tokens.made == 1)
    #expect(connections.requests.count == 1)
  }

  /// Somebody else's push has renewed the token while this one was under way.
  @Test func `A token that was replaced meanwhile is not renewed again`() async throws {
    let expired = FakeConnection { [tokens, clocks] (_) async throws(TransportError) -> HTTPResponse in
      if let old = try? tokens.current(now: clocks.wall.now()) {
        clocks.advance(by: .seconds(21 * 60))
        _ = tokens.markExpired(old, now: clocks.wall.now())
        _ = try? tokens.current(now: clocks.wall.now())
      }
      return HTTPResponse(status: 403, body: Array(#"{"reason":"ExpiredProviderToken"}"#.utf8))
    }
    let connections = FakeConnections([expired, FakeConnection(200)])
    let lane = try lane(connections.pool())
    #expect(await lane.send(Sample.push(), Sample.attempt(timeout: .seconds(3600))).short.hasPrefix("accepted"))
    #expect(tokens.made == 2)
  }

  @Test(arguments: [(400, "IdleTimeout"), (503, "Shutdown")])
  func `A connection that close is left`(status: Int, reason: String) async throws {
    let connections = FakeConnections([
      FakeConnection(status, #"{"reason":"\#(reason)"}"#), FakeConnection(200),
    ])
    #expect(try await push(connections).short.hasPrefix("accepted"))
    #expect(connections.opened.map(\.requests.count) == [1, 1])
  }

  @Test func `Throttling is not answered at once`() async throws {
    let connections = FakeConnections([FakeConnection(429, #"{"reason":"TooManyRequests"}"#)])
    #expect(try await push(connections).short == "retry THROTTLED")
    #expect(connections.requests.count == 1)
  }

  @Test func `A lane that is closed sends nothing`() async throws {
    let connections = FakeConnections([FakeConnection(200)])
    let pool = connections.pool()
    let lane = try lane(pool)
    _ = await lane.send(Sample.push(), Sample.attempt())
    #expect(pool.count == 1)
    await pool.shutdown()
    #expect(connections.opened.map(\.isShutDown) == [true])
    #expect(await lane.send(Sample.push(), Sample.attempt()).short == "retry NOT_CONNECTED")
    #expect(pool.count == 0)
  }
}
