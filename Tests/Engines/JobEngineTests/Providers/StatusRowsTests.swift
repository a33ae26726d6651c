import FoundationEssentials
import JobEngine
import TestSupport
import Testing

@Suite struct StatusRowsTests {
  /// Every row by provider: status, class, reason, detail. A table may take it from `common.json5` or have it itself.
  private static let rows = [
    "apns": """
    3xx laneDown PROVIDER_CONFIGURATION The answer is a redirect: check baseURL.
    400 refused PUSH_REFUSED Apple refused the push.
    401 laneDown PROVIDER_CREDENTIALS Apple does not accept the credential.
    403 laneDown PROVIDER_CREDENTIALS Apple does not accept the credential.
    404 laneDown PROVIDER_CONFIGURATION This is not the push service: check baseURL.
    405 laneDown PROVIDER_CONFIGURATION This is not the push service: check baseURL.
    410 refused UNREGISTERED The device token is no longer valid.
    413 refused PAYLOAD_TOO_LARGE Receipt and secret are too long for a push.
    429 retry THROTTLED Too many pushes were sent.
    4xx refused PUSH_REFUSED Apple refused the push.
    5xx retry PROVIDER_UNAVAILABLE Apple's push service failed.
    """,
    "apple": """
    3xx laneDown PROVIDER_CONFIGURATION The answer is a redirect: check baseURL.
    401 laneDown PROVIDER_CREDENTIALS Apple refuses the client: check teamID, keyID, keyFile and clientID.
    403 laneDown PROVIDER_CREDENTIALS Apple forbids this client, or this machine's address: check teamID, keyID, keyFile and clientID.
    404 laneDown PROVIDER_CONFIGURATION There is no such address: check baseURL.
    405 laneDown PROVIDER_CONFIGURATION This is not Apple's API: check baseURL.
    407 laneDown PROVIDER_CONFIGURATION A proxy wants credentials.
    408 unknown PROVIDER_ERROR The request timed out on the way.
    425 retry PROVIDER_THROTTLED The request came too early.
    429 retry PROVIDER_THROTTLED Apple accepts no more requests at the moment.
    4xx refused PROVIDER_REFUSED Apple refuses the request and gives no reason.
    5xx unknown PROVIDER_ERROR Apple failed and does not say whether the request was carried out.
    """,
    "aws": """
    3xx laneDown PROVIDER_CONFIGURATION The answer is a redirect: check baseURL and region.
    401 laneDown PROVIDER_CREDENTIALS AWS refuses the credentials: check accessKeyID and secretKeyFile.
    403 laneDown PROVIDER_CREDENTIALS AWS forbids sending with these credentials: check accessKeyID and secretKeyFile.
    404 laneDown PROVIDER_CONFIGURATION There is no such address: check baseURL and region.
    405 laneDown PROVIDER_CONFIGURATION This is not AWS End User Messaging: check baseURL.
    407 laneDown PROVIDER_CONFIGURATION A proxy wants credentials.
    408 unknown PROVIDER_ERROR The request timed out on the way.
    429 retry PROVIDER_THROTTLED AWS accepts no more requests at the moment.
    4xx refused PROVIDER_REFUSED AWS refused the message.
    5xx unknown PROVIDER_ERROR AWS failed and does not say whether the message was taken.
    """,
    "google-oauth": """
    3xx laneDown PROVIDER_CONFIGURATION The answer is a redirect: check tokenURL.
    404 laneDown PROVIDER_CONFIGURATION There is no token endpoint at this address: check tokenURL.
    405 laneDown PROVIDER_CONFIGURATION There is no token endpoint at this address: check tokenURL.
    408 retry TOKEN_UNAVAILABLE The request timed out on the way.
    429 retry PROVIDER_THROTTLED Google gives no more access tokens at the moment.
    4xx laneDown PROVIDER_CREDENTIALS Google gives the service account no access token: check serviceAccountFile.
    5xx retry TOKEN_UNAVAILABLE Google's token endpoint failed.
    """,
    "messagebird": """
    3xx laneDown PROVIDER_CONFIGURATION The answer is a redirect: check baseURL.
    401 laneDown PROVIDER_CREDENTIALS MessageBird refuses the access key: check accessKeyFile.
    402 laneDown PROVIDER_ACCOUNT MessageBird asks for payment.
    403 laneDown PROVIDER_CREDENTIALS MessageBird forbids sending with this access key, or from this address.
    404 laneDown PROVIDER_CONFIGURATION There is no such address: check baseURL.
    405 laneDown PROVIDER_CONFIGURATION This is not the messages API: check baseURL.
    407 laneDown PROVIDER_CONFIGURATION A proxy wants credentials.
    408 unknown PROVIDER_ERROR The request timed out on the way.
    425 retry PROVIDER_THROTTLED The request came too early.
    429 retry PROVIDER_THROTTLED MessageBird accepts no more requests at the moment.
    4xx refused PROVIDER_REFUSED MessageBird refused the message.
    5xx unknown PROVIDER_ERROR MessageBird failed and does not say whether the message was taken.
    """,
    "recaptcha": """
    3xx laneDown PROVIDER_CONFIGURATION The answer is a redirect: check baseURL.
    401 laneDown PROVIDER_CREDENTIALS Google does not accept the API key, or the access token: check apiKeyFile or serviceAccountFile.
    403 laneDown PROVIDER_CREDENTIALS The API key or the service account may not assess tokens of this project.
    404 laneDown PROVIDER_CONFIGURATION There is no reCAPTCHA at this address: check baseURL and project.
    405 laneDown PROVIDER_CONFIGURATION There is no reCAPTCHA at this address: check baseURL.
    408 unknown PROVIDER_ERROR The request timed out on the way.
    429 retry PROVIDER_THROTTLED reCAPTCHA accepts no more requests at the moment.
    4xx refused CAPTCHA_INVALID reCAPTCHA does not accept the token.
    5xx unknown PROVIDER_ERROR reCAPTCHA failed and does not say whether it assessed the token.
    """,
    "twilio": """
    3xx laneDown PROVIDER_CONFIGURATION The answer is a redirect: check baseURL.
    401 laneDown PROVIDER_CREDENTIALS Twilio refuses the credentials: check accountSID, username and passwordFile.
    402 laneDown PROVIDER_ACCOUNT Twilio asks for payment.
    403 laneDown PROVIDER_CREDENTIALS Twilio forbids sending with these credentials.
    404 laneDown PROVIDER_CONFIGURATION There is no such resource: check accountSID and baseURL.
    405 laneDown PROVIDER_CONFIGURATION This is not the Messages API: check baseURL.
    407 laneDown PROVIDER_CONFIGURATION A proxy wants credentials.
    408 unknown PROVIDER_ERROR The request timed out on the way.
    425 retry PROVIDER_THROTTLED The request came too early.
    429 retry PROVIDER_THROTTLED Twilio accepts no more requests at the moment.
    4xx refused PROVIDER_REFUSED Twilio refused the message.
    5xx unknown PROVIDER_ERROR Twilio failed and does not say whether the message was taken.
    """,
    "vonage": """
    3xx laneDown PROVIDER_CONFIGURATION The answer is a redirect: check baseURL.
    401 laneDown PROVIDER_CREDENTIALS Vonage refuses the credentials: check apiKey and apiSecretFile.
    402 laneDown PROVIDER_ACCOUNT Vonage asks for payment.
    403 laneDown PROVIDER_CREDENTIALS Vonage forbids sending with these credentials, or from this address.
    404 laneDown PROVIDER_CONFIGURATION There is no such address: check baseURL.
    405 laneDown PROVIDER_CONFIGURATION This is not the SMS API: check baseURL.
    407 laneDown PROVIDER_CONFIGURATION A proxy wants credentials.
    408 unknown PROVIDER_ERROR The request timed out on the way.
    420 retry PROVIDER_THROTTLED Vonage accepts no more requests at the moment.
    425 retry PROVIDER_THROTTLED The request came too early.
    429 retry PROVIDER_THROTTLED Vonage accepts no more requests at the moment.
    4xx refused PROVIDER_REFUSED Vonage refused the message.
    5xx unknown PROVIDER_ERROR Vonage failed and does not say whether the message was taken.
    """,
    "webhook": """
    3xx laneDown PROVIDER_CONFIGURATION The answer is a redirect: check baseURL.
    401 laneDown PROVIDER_CREDENTIALS The receiver does not accept the signature: check secretFile.
    403 laneDown PROVIDER_CREDENTIALS The receiver does not let this worker in.
    404 laneDown PROVIDER_CONFIGURATION There is no receiver at this address: check baseURL.
    405 laneDown PROVIDER_CONFIGURATION The address takes no POST: check baseURL.
    407 laneDown PROVIDER_CONFIGURATION A proxy wants credentials.
    408 unknown PROVIDER_ERROR The request timed out on the way.
    410 refused PROVIDER_REFUSED The receiver no longer takes messages.
    425 retry PROVIDER_THROTTLED The request came too early.
    429 retry PROVIDER_THROTTLED The receiver accepts no more requests at the moment.
    4xx refused PROVIDER_REFUSED The receiver refused the message.
    5xx unknown PROVIDER_ERROR The receiver failed and does not say whether it took the message.
    """,
  ]

  private static let directory = Repository.root + "/Config/providers"

  @Test(arguments: rows.keys.sorted())
  func `Each status has the outcome it always had, whether its row is shared or not`(provider: String) throws {
    let sections: Set<ProviderTable.Section> =
      switch provider {
      case "webhook": [.statuses]
      case "vonage", "messagebird": [.codes, .statuses, .receipts]
      default: [.codes, .statuses]
      }
    let table = try ProviderTables.Source(provider, sections: sections).read(directory: Self.directory)
    var expected: [String: ProviderRule] = [:]
    for line in try #require(Self.rows[provider]).split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 3).map(String.init)
      expected[words[0]] = ProviderRule(
        class: try #require(ProviderRule.Class(rawValue: words[1])), reason: words[2], detail: words[3])
    }
    for status in 300...599 {
      let rule = try #require(expected["\(status)"] ?? expected["\(status / 100)xx"])
      #expect(table.rule(code: nil, status: status).rule == rule, "\(provider) \(status)")
    }
  }

  @Test func `Every table with rows by status is held by the list above`() throws {
    let files = try FileManager.default.contentsOfDirectory(atPath: Self.directory)
    let providers = files.filter { $0.hasSuffix(".json5") }.map { String($0.dropLast(6)) }
    #expect(Set(providers).subtracting(["common", "smpp", "smtp"]) == Set(Self.rows.keys))
  }

  @Test("A row in `common` and in `statuses`, or in neither file, is an error that names it")
  func commonRowsAreChecked() throws {
    let directory = FileManager.default.temporaryDirectory.path + "/tables-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    func problem(_ table: String, common: String? = nil) throws -> String? {
      try Data(table.utf8).write(to: URL(filePath: directory + "/some.json5"))
      try Data((common ?? Self.common).utf8).write(to: URL(filePath: directory + "/common.json5"))
      do throws(WorkerError) {
        _ = try ProviderTables.Source("some", sections: [.statuses]).read(directory: directory)
        return nil
      } catch {
        return error.message
      }
    }
    let own = #"statuses: {"429": {class: "retry", reason: "X", detail: "y"}}"#
    #expect(try problem(#"{provider: "A", common: ["429"]}"#) == nil)
    #expect(
      try problem(#"{provider: "A", common: ["429"], \#(own)}"#)?.contains("statuses.429 is in common too") == true)
    #expect(try problem(#"{provider: "A", common: ["430"]}"#)?.contains("has no row for 430") == true)
    #expect(try problem(#"{common: ["429"]}"#)?.contains("provider is missing") == true)
    #expect(try problem(#"{provider: "A", common: []}"#)?.contains("statuses is empty") == true)
    let wrong = Self.common.replacing("429", with: "four")
    #expect(
      try problem(#"{provider: "A", common: ["four"]}"#, common: wrong)?.contains("statuses.four must be") == true)
  }

  private static let common = #"{statuses: {"429": {class: "retry", reason: "X", detail: "{provider} is busy."}}}"#
}
