import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine
import Simulation
import TestSupport
import Testing

@testable import Revocation

/// A handler before an Apple ID service that verifies client secrets, takes a code once and for five minutes, and fails on demand.
struct AppleBench {
  let simulator: Simulator
  let http: HTTPClient
  let clock: ManualClock
  let keys: KeyRing
  let handler: RevocationJobHandler

  static func run(
    secret: ClientSecret? = nil, persistence: Duration = .seconds(3600),
    _ body: (AppleBench) async throws -> Void
  ) async throws {
    var settings = SimulatorSettings()
    settings.appleID.teamID = Samples.teamID
    settings.appleID.keys = [Samples.keyID: Secret(Samples.keyFile)]
    settings.appleID.clientIDs = [Samples.app, Samples.service]
    let clock = ManualClock(Samples.now)
    let simulator = try Simulator(settings, clock: clock)
    let http = try HTTPClient()
    let table = try Samples.table()
    let keys = try Samples.keys("key")
    func lane(_ name: String, _ clientID: String) throws -> AppleLane {
      var lane = AppleLane(
        LaneContext(name: name, table: table, http: http, clock: clock), clientID: clientID,
        baseURL: simulator.url + "/", secret: try secret ?? Samples.secret(clientID: clientID))
      lane.probeTimeout = .patience
      return lane
    }
    let handler = RevocationJobHandler(
      lanes: [try lane("app", Samples.app), try lane("web", Samples.service)],
      clients: [
        .init(app: Samples.app, clientID: Samples.app): "app",
        .init(app: Samples.app, clientID: Samples.service): "web",
      ], keys: keys, persistence: persistence)
    let bench = AppleBench(simulator: simulator, http: http, clock: clock, keys: keys, handler: handler)
    do { try await body(bench) } catch {
      await bench.stop()
      throw error
    }
    await bench.stop()
  }

  private func stop() async {
    await http.shutdown()
    await simulator.stop()
  }

  private struct Issued: Decodable { let code: String }

  func code(
    _ clientID: String = Samples.app, redirectURI: String? = nil, error: String? = nil, subject: String? = nil
  ) async throws -> String {
    var order: [String: String] = ["clientID": clientID]
    order["subject"] = subject
    order["redirectURI"] = redirectURI
    order["error"] = error
    return try JSONDecoder().decode(Issued.self, from: try await control("/apple/codes", order)).code
  }

  /// Orders a fault, as JSON: `{"provider": "apple-token", "fault": "reset"}`.
  func fault(_ json: String) async throws {
    _ = try await post("/control/faults", json)
  }

  struct Revocation: Decodable, Hashable {
    let clientID: String
    let token: String
    let tokenTypeHint: String?
    let code: String?
    let isKnown: Bool
  }

  func revocations() async throws -> [Revocation] {
    let response = try await http.send(
      HTTPRequest(method: "GET", url: simulator.url + "/control/revocations", timeouts: .patient))
    return try JSONDecoder().decode([Revocation].self, from: Data(response.body))
  }

  private func control(_ path: String, _ order: [String: String]) async throws -> Data {
    let json = String(decoding: try JSONEncoder().encode(order), as: UTF8.self)
    return Data(try await post("/control" + path, json))
  }

  private func post(_ path: String, _ json: String) async throws -> [UInt8] {
    let response = try await http.send(
      HTTPRequest(
        method: "POST", url: simulator.url + path, headers: ["Content-Type": "application/json"],
        body: Array(json.utf8),
        timeouts: .patient))
    try #require((200...201).contains(response.status), "\(String(decoding: response.body, as: UTF8.self))")
    return response.body
  }

  func body(
    _ kind: AppleToken.Kind, _ token: String, clientID: String? = nil, redirectURI: String? = nil,
    deadline: UnixTime = Samples.now + .seconds(300)
  ) -> AppleRevokeJob {
    AppleRevokeJob(
      app: Samples.app, clientID: clientID, token: AppleToken(kind, SecretField(Secret(token))),
      redirectURI: redirectURI, deadline: deadline)
  }

  func perform(
    _ body: AppleRevokeJob, id: String = "job-1", stageOf: String? = nil, unknownCalls: Int = 0,
    timeout: Duration = .patience
  ) async throws -> Classification {
    let prepared = try #require(handler.prepare(body, of: Samples.message(id, stageOf: stageOf)).ready)
    return await handler.perform(
      prepared.job, on: prepared.facts.lanes[0], Samples.attempt(id, unknownCalls: unknownCalls, timeout: timeout))
  }
}
