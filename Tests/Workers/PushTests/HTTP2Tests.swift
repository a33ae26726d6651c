import CountersignTelemetry
import HTTPClient
import TestSupport
import Testing

@testable import Push

@Suite(.timeLimit(.minutes(10)))
struct HTTP2Tests {
  private let tokens: ProviderTokens

  init() throws {
    tokens = ProviderTokens(teamID: "TEAM123456", key: try Sample.key(), life: .seconds(50 * 60))
  }

  private func lane(
    _ url: String, _ front: Front, connections: Int = 4, answerTimeout: Duration = .patience,
    clientCertificate: Bool = false
  ) throws -> APNsLane {
    var transport = HTTPClient.Configuration(
      maxConcurrent: APNsAccount.width, pool: HTTPClient.Configuration.Pool(maxPerHost: 1),
      caFile: front.certificateFile, version: .http2)
    if clientCertificate {
      transport.clientCertificate = HTTPClient.Configuration.ClientCertificate(
        file: front.certificateFile, keyFile: front.keyFile)
    }
    let selector = ConnectionSelector(limit: connections, width: APNsAccount.width)
    return APNsLane(
      name: "apns", api: try Sample.apnsAPI(baseURL: url, answerTimeout: answerTimeout, clock: SystemClock()),
      credential: clientCertificate ? .certificate : .tokens(tokens),
      pool: ConnectionPool(selector) { [transport] () throws(TransportError) in try HTTPClient(transport) },
      clocks: .system)
  }

  private static func push(_ number: Int) -> SilentPush {
    let digits = String(number, radix: 16)
    return SilentPush(
      app: Sample.app, deviceToken: String(repeating: "0", count: 64 - digits.utf8.count) + digits, topic: Sample.app,
      payload: Array("{}".utf8), expiration: Sample.deadline, isEnvironmentStated: true)
  }

  private func pushAll(_ lane: APNsLane, _ numbers: Range<Int>) async -> [String: Int] {
    await withTaskGroup(of: String.self) { group in
      for number in numbers {
        group.addTask {
          let outcome = await lane.send(Self.push(number), Sample.attempt("job-\(number)", timeout: .patience))
          return String(outcome.short.prefix { $0 != " " })
        }
      }
      return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }
  }

  /// The server ends each connection with GOAWAY after 100 pushes.
  @Test func `Pushes outlive the ends of connections`() async throws {
    try await Front.run { front in
      let lane = try lane(front.url, front)
      #expect(await pushAll(lane, 0..<1_000) == ["accepted": 1_000])
      let pushes = front.pushes
      #expect(Set(pushes.map(\.deviceToken)).count == 1_000)
      #expect(Set(pushes.map(\.connection)).count >= 10)
      #expect(Set(pushes.map(\.version)) == ["HTTP/2.0"])
      #expect(Set(pushes.compactMap { $0.headers["authorization"] }).count == 1)
      #expect(tokens.made == 1)
      let push = try #require(pushes.first)
      #expect(push.headers["apns-topic"] == Sample.app)
      #expect(push.headers["apns-push-type"] == "background")
      #expect(push.headers["apns-priority"] == "5")
      await lane.pool.shutdown()
    }
  }

  /// 100 tokens in a row are refused, by a server that then takes one push at a time on a connection.
  @Test func `Refused tokens do not stall the others`() async throws {
    try await Front.run(refusing: Self.isOfTheFirstHundred) { front in
      let lane = try lane(front.narrowURL, front)
      async let bad = pushAll(lane, 0..<100)
      async let good = pushAll(lane, 100..<200)
      let outcomes = await (bad, good)
      #expect(outcomes.0 == ["otherLane": 100])
      #expect(outcomes.1 == ["accepted": 100])
      // At least: libcurl opens another one where HTTP/2 fails on one of them.
      #expect(Set(front.pushes.map(\.connection)).count >= 4)
      await lane.pool.shutdown()
    }
  }

  private static func isOfTheFirstHundred(_ deviceToken: String) -> Bool {
    (Int(deviceToken.suffix(8), radix: 16) ?? 0) < 100
  }

  @Test func `A connection that falls silent is replaced`() async throws {
    try await Front.run { front in
      let target = try #require(front.url.split(separator: ":").last.flatMap { UInt16($0) })
      let relay = Relay(to: target)
      let lane = try lane(
        "https://localhost:\(relay.port)", front, connections: 1, answerTimeout: .seconds(20))
      #expect(await pushAll(lane, 0..<1) == ["accepted": 1])
      relay.freeze()
      #expect(await pushAll(lane, 1..<21) == ["accepted": 20])
      #expect(relay.connections == 2)
      #expect(lane.pool.givenUp == 1)
      await lane.pool.shutdown()
      relay.stop()
    }
  }

  @Test func `An app may have a certificate`() async throws {
    try await Front.run { front in
      let lane = try lane(front.mutualURL, front, clientCertificate: true)
      #expect(await pushAll(lane, 0..<3) == ["accepted": 3])
      #expect(front.pushes.allSatisfy { $0.headers["authorization"] == nil })
      await lane.pool.shutdown()
      // nginx refuses who shows none with the status 400.
      let without = try self.lane(front.mutualURL, front)
      #expect(await pushAll(without, 0..<1) == ["refused": 1])
      await without.pool.shutdown()
    }
  }
}
