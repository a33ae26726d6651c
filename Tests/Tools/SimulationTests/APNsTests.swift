import CountersignTelemetry
import HTTPClient
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct APNsTests {
  private struct Refusal: Decodable {
    let reason: String
    let timestamp: Int64?
  }

  private struct ShownPush: Decodable {
    struct Payload: Decodable { let aps: [String: Int] }
    let deviceToken: String
    let headers: [String: String]
    let payload: Payload
    let receivedAt: String
  }

  private static let device = String(repeating: "0aB1", count: 16)
  private static let pushID = "5b6f4c3e-7d39-4c5c-9a44-3d7a3c6b2f10"

  private func withDevice(_ body: (Bench) async throws -> Void) async throws {
    try await Bench.run { bench in
      try await bench.register(Self.device)
      try await body(bench)
    }
  }

  private func expect(_ reason: String, _ status: Int, _ answer: Answer) throws {
    #expect(answer.status == status)
    #expect(try answer.decoded(Refusal.self).reason == reason)
    #expect(answer.response.headers["apns-id"]?.isEmpty == false)
  }

  @Test func `Push is taken and shown`() async throws {
    try await withDevice { bench in
      let answer = try await bench.push(Self.device, ["apns-id": Self.pushID])
      #expect(answer.status == 200)
      #expect(answer.text.isEmpty)
      #expect(answer.response.headers["apns-id"] == Self.pushID)
      let other = String(repeating: "f", count: 64)
      try await bench.register(other)
      _ = try await bench.push(other)
      let shown: [ShownPush] = try await bench.control("GET", "/pushes?deviceToken=\(Self.device)").decoded()
      #expect(shown.map(\.deviceToken) == [Self.device.lowercased()])
      #expect(shown.first?.headers["apns-topic"] == "com.example.push")
      #expect(shown.first?.headers["authorization"] == nil)
      #expect(shown.first?.payload.aps == ["content-available": 1])
      #expect(shown.first?.receivedAt == "2026-07-01T12:00:00Z")
      let all: [ShownPush] = try await bench.control("GET", "/pushes").decoded()
      #expect(all.count == 2)
      _ = try await bench.control("DELETE", "/pushes")
      #expect(try await bench.control("GET", "/pushes").text == "[]\n")
    }
  }

  @Test func `Push without an ID gets one`() async throws {
    try await withDevice { bench in
      let answer = try await bench.push(Self.device)
      #expect(answer.response.headers["apns-id"]?.utf8.count == 36)
      #expect(answer.response.headers["apns-unique-id"] == nil)
      let sandbox = try await bench.push(Self.device, ["Host": "api.sandbox.push.localhost:5707"])
      #expect(sandbox.response.headers["apns-unique-id"]?.utf8.count == 36)
    }
  }

  @Test(
    arguments: [
      (["apns-id": "1"], "BadMessageId"), (["apns-push-type": nil], "InvalidPushType"),
      (["apns-push-type": "silent"], "InvalidPushType"), (["apns-priority": "10"], "BadPriority"),
      (["apns-priority": nil], "BadPriority"), (["apns-priority": "3"], "BadPriority"),
      (["apns-expiration": "soon"], "BadExpirationDate"), (["apns-topic": nil], "MissingTopic"),
      (["apns-topic": "com.example.other"], "TopicDisallowed"),
      (["apns-collapse-id": String(repeating: "x", count: 65)], "BadCollapseId"),
    ] as [([String: String?], String)])
  func `Wrong header is refused`(changes: [String: String?], reason: String) async throws {
    try await withDevice { bench in
      try expect(reason, 400, try await bench.push(Self.device, changes))
      #expect(try await bench.control("GET", "/pushes").text == "[]\n")
    }
  }

  @Test func `Alert may have any priority`() async throws {
    try await withDevice { bench in
      for priority in ["1", "5", "10", nil] {
        let answer = try await bench.push(Self.device, ["apns-push-type": "alert", "apns-priority": priority])
        #expect(answer.status == 200)
      }
    }
  }

  @Test func `Field that comes twice is refused`() async throws {
    try await withDevice { bench in
      try expect("DuplicateHeaders", 400, try await bench.push(Self.device, ["APNS-Topic": "com.example.push"]))
    }
  }

  @Test func `Payload is checked`() async throws {
    try await withDevice { bench in
      let fitting = #"{"aps":{"content-available":1},"x":""# + String(repeating: "x", count: 4_058) + "\"}"
      #expect(fitting.utf8.count == 4_096)
      #expect(try await bench.push(Self.device, payload: fitting).status == 200)
      try expect("PayloadTooLarge", 413, try await bench.push(Self.device, payload: fitting + " "))
      for payload in ["", "[]", "{", "text", "{}", #"{"x":{}}"#, #"{"aps":1}"#] {
        try expect("PayloadEmpty", 400, try await bench.push(Self.device, payload: payload))
      }
    }
  }

  @Test(
    arguments: ["", "zz", String(repeating: "a", count: 62), String(repeating: "a", count: 65), "not-hexadecimal"])
  func `Wrong device token is refused`(token: String) async throws {
    try await withDevice { bench in
      try expect(token.isEmpty ? "MissingDeviceToken" : "BadDeviceToken", 400, try await bench.push(token))
    }
  }

  @Test func `Path and method are checked`() async throws {
    try await withDevice { bench in
      try expect("BadPath", 404, try await bench.send("POST", "/3/devices/x"))
      try expect("MethodNotAllowed", 405, try await bench.send("GET", "/3/device/\(Self.device)"))
    }
  }

  @Test func `Provider token is checked`() async throws {
    try await withDevice { bench in
      let now = bench.clock.now()
      let good = try bench.providerToken()
      let changed = String(good.dropLast(4) + "AAAA")
      for token in [
        changed, "a b", "nonsense", try bench.providerToken(team: "OTHER00001"),
        try bench.providerToken(id: "OTHER00001"),
        try bench.providerToken(id: nil), try bench.providerToken(key: TestKeys.second),
        try bench.providerToken(issuedAt: now + .seconds(120)), try TestKeys.token([("iss", .text("EXAMPLE001"))]),
      ] {
        let answer = try await bench.push(Self.device, ["authorization": "bearer \(token)"])
        try expect("InvalidProviderToken", 403, answer)
      }
      for field in [nil, "bearer", "bearer ", "Basic \(good)"] {
        try expect("MissingProviderToken", 403, try await bench.push(Self.device, ["authorization": field]))
      }
    }
  }

  @Test func `Provider token ages`() async throws {
    try await withDevice { bench in
      let token = try bench.providerToken()
      bench.clock.advance(by: .seconds(3_600))
      #expect(try await bench.push(Self.device, ["authorization": "bearer \(token)"]).status == 200)
      bench.clock.advance(by: .seconds(1))
      let answer = try await bench.push(Self.device, ["authorization": "bearer \(token)"])
      try expect("ExpiredProviderToken", 403, answer)
    }
  }

  @Test func `Connection takes new tokens no sooner than after twenty minutes`() async throws {
    try await withDevice { bench in
      func push(_ token: String, connection: String) async throws -> Answer {
        try await bench.push(
          Self.device, ["authorization": "bearer \(token)", "X-Front-Connection": connection])
      }
      let first = try bench.providerToken()
      bench.clock.advance(by: .seconds(1_199))
      let early = try bench.providerToken()
      bench.clock.advance(by: .seconds(1))
      let late = try bench.providerToken()
      #expect(try await push(first, connection: "1").status == 200)
      try expect("TooManyProviderTokenUpdates", 429, try await push(early, connection: "1"))
      #expect(try await push(first, connection: "1").status == 200)
      #expect(try await push(early, connection: "2").status == 200)
      #expect(try await push(late, connection: "1").status == 200)
    }
  }

  @Test func `Connection is spoilt by an expired token and keeps its key`() async throws {
    try await withDevice { bench in
      func push(_ token: String, connection: String) async throws -> Answer {
        try await bench.push(
          Self.device, ["authorization": "bearer \(token)", "X-Front-Connection": connection])
      }
      let old = try bench.providerToken()
      bench.clock.advance(by: .seconds(3_601))
      let new = try bench.providerToken()
      try expect("ExpiredProviderToken", 403, try await push(old, connection: "1"))
      try expect("ExpiredProviderToken", 403, try await push(new, connection: "1"))
      #expect(try await push(new, connection: "2").status == 200)
      let other = try bench.providerToken(key: TestKeys.second, id: "KEY0000002")
      try expect("UnrelatedKeyIdInToken", 403, try await push(other, connection: "2"))
      #expect(try await push(other, connection: "3").status == 200)
    }
  }

  @Test func `Device belongs to an environment and an app`() async throws {
    try await Bench.run { bench in
      let order = #"{"deviceToken":"\#(Self.device)","environment":"sandbox","topic":"com.example.app"}"#
      #expect(try await bench.control("POST", "/devices", order).status == 201)
      let app = ["apns-topic": "com.example.app"]
      let sandbox = ["Host": "api.sandbox.push.localhost:5707"]
      try expect("BadDeviceToken", 400, try await bench.push(Self.device, app))
      try expect("DeviceTokenNotForTopic", 400, try await bench.push(Self.device, sandbox))
      let both = app.merging(sandbox) { first, _ in first }
      #expect(try await bench.push(Self.device, both).status == 200)
      _ = try await bench.control("DELETE", "/devices")
      try expect("BadDeviceToken", 400, try await bench.push(Self.device, both))
    }
  }

  @Test func `Device that is not registered gets nothing`() async throws {
    try await Bench.run { bench in
      try expect("BadDeviceToken", 400, try await bench.push(Self.device))
      let sandbox = ["Host": "api.sandbox.push.localhost:5707"]
      try expect("BadDeviceToken", 400, try await bench.push(Self.device, sandbox))
      let order = #"{"deviceToken":"\#(Self.device)","topic":"com.example.push"}"#
      #expect(try await bench.control("POST", "/devices", order).status == 201)
      #expect(try await bench.push(Self.device).status == 200)
      // production, unless the order says otherwise
      try expect("BadDeviceToken", 400, try await bench.push(Self.device, sandbox))
      try expect("TopicDisallowed", 400, try await bench.push(Self.device, ["apns-topic": "com.example.none"]))
      for wrong in [
        #"{"deviceToken":"\#(Self.device)"}"#, #"{"deviceToken":"\#(Self.device)","topic":"*","environment":"x"}"#,
      ] {
        #expect(try await bench.control("POST", "/devices", wrong).status == 400)
      }
    }
  }

  @Test(
    arguments: [("Unregistered", 410), ("TooManyRequests", 429), ("Shutdown", 503), ("InternalServerError", 500)])
  func `Reason is given as often as ordered`(reason: String, status: Int) async throws {
    try await withDevice { bench in
      let order = #"{"deviceToken":"\#(Self.device)","topic":"com.example.push","reason":"\#(reason)","count":2}"#
      #expect(try await bench.control("POST", "/devices", order).status == 201)
      for _ in 0..<2 {
        let answer = try await bench.push(Self.device)
        try expect(reason, status, answer)
        let timestamp = try answer.decoded(Refusal.self).timestamp
        #expect(timestamp == (status == 410 ? bench.clock.now().milliseconds : nil))
      }
      #expect(try await bench.push(Self.device).status == 200)
    }
  }

  @Test func `Reason that is not known needs a status`() async throws {
    try await withDevice { bench in
      let order = #"{"deviceToken":"\#(Self.device)","topic":"*","reason":"BadWeather""#
      #expect(try await bench.control("POST", "/devices", order + "}").status == 400)
      #expect(try await bench.control("POST", "/devices", order + #","status":418,"timestamp":7}"#).status == 201)
      let answer = try await bench.push(Self.device)
      try expect("BadWeather", 418, answer)
      #expect(try answer.decoded(Refusal.self).timestamp == 7)
    }
  }

  @Test(
    arguments: [(429, "TooManyRequests"), (503, "ServiceUnavailable"), (500, "InternalServerError")])
  func `Fault has apples reason`(status: Int, reason: String) async throws {
    try await withDevice { bench in
      _ = try await bench.control(
        "POST", "/faults", #"{"provider":"apns","fault":\#(status),"to":"\#(Self.device.lowercased())"}"#)
      try await bench.register(String(repeating: "f", count: 64))
      #expect(try await bench.push(String(repeating: "f", count: 64)).status == 200)
      try expect(reason, status, try await bench.push(Self.device))
    }
  }
}

extension Bench {
  func providerToken(
    team: String = "EXAMPLE001", key: String = TestKeys.first, id: String? = "KEY0000001", issuedAt: UnixTime? = nil
  ) throws -> String {
    try TestKeys.token([("iss", .text(team)), ("iat", .time(issuedAt ?? clock.now()))], key: key, id: id)
  }

  func register(_ device: String) async throws {
    let order = #"{"deviceToken":"\#(device)","topic":"*","environment":"any"}"#
    #expect(try await control("POST", "/devices", order).status == 201)
  }

  /// Sends a push. `nil` leaves a field out.
  func push(
    _ device: String, _ changes: [String: String?] = [:], payload: String = #"{"aps":{"content-available":1}}"#
  ) async throws -> Answer {
    var fields: [String: String?] = [
      "apns-push-type": "background", "apns-priority": "5", "apns-topic": "com.example.push", "apns-expiration": "0",
      "authorization": "bearer \(try providerToken())",
    ]
    fields.merge(changes) { $1 }
    var headers: HTTPHeaders = [:]
    for case (let name, let value?) in fields { headers.add(name: name, value: value) }
    return try await send("POST", "/3/device/\(device)", headers: headers, body: Array(payload.utf8))
  }
}
