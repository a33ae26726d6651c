import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import Simulation
import TestSupport
import Testing

struct Bench {
  let simulator: Simulator
  let transport: HTTPClient
  let clock: ManualClock
  let settings: SimulatorSettings

  static func run(
    maxMessages: Int = 1_000, random: @escaping @Sendable () -> Double = { 0.5 },
    localCallbacks: Bool = false, phoneFraud: Bool = false, _ body: (Bench) async throws -> Void
  ) async throws {
    var settings = SimulatorSettings()
    settings.maxMessages = maxMessages
    let keys = ["KEY0000001": Secret(TestKeys.first), "KEY0000002": Secret(TestKeys.second)]
    settings.apns.keys = keys
    settings.apns.topics = ["com.example.push", "com.example.app"]
    settings.appleID.keys = keys
    settings.appleID.clientIDs = ["com.example.app", "com.example.web"]
    settings.recaptcha.siteKeys = ["app-key": "com.example.app", "web-key": "example.com"]
    settings.recaptcha.serviceAccount = Secret(TestKeys.accountFile)
    settings.pages.redirectURIs = [PageTests.callback]
    settings.pages.google = ["web": Secret("google-secret")]
    settings.allowsLocalCallbacks = localCallbacks
    settings.recaptcha.assessesPhoneFraud = phoneFraud
    let clock = ManualClock()
    let bench = Bench(
      simulator: try Simulator(settings, clock: clock, random: random), transport: try HTTPClient(),
      clock: clock, settings: settings)
    do { try await body(bench) } catch {
      await bench.stop()
      throw error
    }
    await bench.stop()
  }

  private func stop() async {
    await transport.shutdown()
    await simulator.stop()
  }

  static let form: [(String, String)] = [
    ("To", "+14155550123"), ("From", "+14155550100"), ("Body", "Your code is 123456."), ("ValidityPeriod", "300"),
  ]

  func twilio(
    _ changes: [String: String?] = [:], sid: String? = nil, username: String? = nil, token: String? = nil,
    timeout: Duration = .patience
  ) async throws -> Answer {
    var fields = Self.form.filter { changes[$0.0] == nil }
    for case (let name, let value?) in changes { fields.append((name, value)) }
    let body = fields.map { "\(escape($0.0))=\(escape($0.1))" }.joined(separator: "&")
    let sid = sid ?? settings.accountSID
    let credentials = "\(username ?? sid):\(token ?? settings.authToken.reveal())"
    return try await send(
      "POST", "/2010-04-01/Accounts/\(sid)/Messages.json",
      headers: [
        "Content-Type": "application/x-www-form-urlencoded",
        "Authorization": "Basic \(Base64.encode(Array(credentials.utf8)))",
      ], body: Array(body.utf8), timeout: timeout)
  }

  func webhook(
    id: String = "job.1", to: String = "+14155550123", text: String = "Your code is 123456.", age: Duration = .zero,
    signature: String? = nil
  ) async throws -> Answer {
    let body = Array("{\"type\":\"sms.dispatch\",\"data\":{\"to\":\"\(to)\",\"text\":\"\(text)\"}}".utf8)
    let timestamp = String((clock.now() - age).seconds)
    let secret = try #require(Base64.decode(String(settings.webhookSecret.reveal().dropFirst("whsec_".count))))
    let signed = Array("\(id).\(timestamp).".utf8) + body
    let right = "v1," + Base64.encode(HMACSHA256.authenticate(signed, key: secret))
    return try await send(
      "POST", "/webhook/sms",
      headers: [
        "Content-Type": "application/json", "webhook-id": id, "webhook-timestamp": timestamp,
        "webhook-signature": signature ?? "v1,AAAA \(right)",
      ], body: body)
  }

  func control(_ method: String, _ path: String, _ body: String? = nil) async throws -> Answer {
    try await send(method, "/control\(path)", headers: [:], body: body.map { Array($0.utf8) })
  }

  func send(
    _ method: String, _ path: String, headers: HTTPHeaders = [:], body: [UInt8]? = nil,
    timeout: Duration = .patience
  ) async throws -> Answer {
    let response = try await transport.send(
      HTTPRequest(
        method: method, url: simulator.url + path, headers: headers, body: body,
        timeouts: HTTPTimeouts(connect: timeout, total: timeout),
        maxResponseBytes: 100_000_000))
    return Answer(response: response)
  }

  func encode(_ fields: [String: String?]) -> [UInt8] {
    var pairs: [String] = []
    for case (let name, let value?) in fields { pairs.append("\(escape(name))=\(escape(value))") }
    return Array(pairs.joined(separator: "&").utf8)
  }

  private func escape(_ text: String) -> String {
    text.utf8.map { byte in
      let isPlain = (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
      return isPlain ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
  }
}

struct Answer {
  let response: HTTPResponse

  var status: Int { response.status }
  var text: String { String(decoding: response.body, as: UTF8.self) }

  func decoded<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try decoder.decode(type, from: Data(response.body))
  }

  func twilioCode() throws -> Int {
    struct Body: Decodable {
      let code: Int
      let message: String
      let moreInfo: String
      let status: Int
    }
    let body: Body = try decoded()
    #expect(body.status == status)
    #expect(body.moreInfo.hasSuffix("/\(body.code)"))
    #expect(!body.message.isEmpty)
    return body.code
  }
}

struct Shown: Decodable, Equatable {
  let to: String
  let from: String?
  let body: String
  let receivedAt: String
  let provider: String
  let id: String
  let deliveries: Int
}

struct Summary: Decodable {
  let received: Int
  let byProvider: [String: Int]
  let distinctRecipients: Int
  let duplicates: Int
  let repeatedWebhooks: Int
  let refused: [String: Int]
  let held: Int
}

extension Bench {
  func shown(_ query: String = "") async throws -> [Shown] { try await control("GET", "/sms\(query)").decoded() }
  func summary() async throws -> Summary { try await control("GET", "/sms/summary").decoded() }
}
