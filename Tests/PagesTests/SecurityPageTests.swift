import CountersignEncoding
import CountersignMessages
import FoundationEssentials
import TestSupport
import Testing

@testable import CommandLine
@testable import Coordination
@testable import Push
@testable import Revocation

@Suite struct SecurityPageTests {
  private let page: Page
  private let limits = Limits()
  private let policy = VerificationPolicy()
  private let codes: Int

  init() throws {
    page = try Page("SECURITY.md")
    codes = (0..<policy.codeLength).reduce(1) { count, _ in count * 10 }
  }

  @Test func `Length and life of a code, and its guesses, are those of the defaults`() {
    let proven = word(VerificationPolicy.checksForProvenHandles)
    page.expect(
      "\(word(policy.codeLength)) digits", "\(word(policy.lifetime.minutes)) minutes",
      "\(word(policy.maximumLifetime.minutes)) if it is sent again", "\(word(policy.checksPerCode)) checks",
      "\(word(policy.laterChecks)) (\(proven) of them", "\(proven) guesses",
      "\(word(policy.laterChecksOfAnybody)) guesses",
      "\(word(limits[.checksPerNumberPerHour])) checks an hour")
    #expect(policy.laterChecks == policy.laterChecksOfAnybody + VerificationPolicy.checksForProvenHandles)
  }

  @Test func `Chances of guessing are worked out from the default budgets`() {
    let checks = policy.checksPerCode + policy.laterChecks
    #expect(codes == 1_000_000)
    // The first code of each verification is compared whatever the budgets are, and each verification costs a message.
    let bounded = limits[.sendsPerDay] + 2 * limits[.wrongCodesPerDay]
    let unbounded = limits[.sendsPerDay] * checks
    page.expect(
      "1 in a million", "\(word(checks)) with 1 in \(grouped(codes / checks))",
      "\(limits[.wrongCodesPerAddressPerHour]) an hour from an address",
      "\(grouped(limits[.wrongCodesPerAppPerDay])) a day for an app", "\(grouped(limits[.wrongCodesPerDay])) in total",
      "\(grouped(limits[.sendsPerDay])) messages a day", "\(grouped(bounded)) guesses", percent(bounded, of: codes),
      grouped(unbounded), percent(unbounded, of: codes),
      "\(word(limits[.wrongCodesPerFictionalNumberPerHour])) times an hour",
      "\(word(limits[.wrongCodesPerNetworkOfFictionalNumberPerHour])) of them from one network")
  }

  @Test func `The alerts on wrong codes are those that the page describes`() throws {
    let alerts = try Page("deploy/prometheus/alerts.yml")
    let found = try #require(
      alerts.text.firstMatch(
        of:
          /CountersignWrongCodes\n\s+expr: \|\n\s+sum\(increase\(countersign_wrong_codes_total\{number="real"\}\[1h\]\)\) > (\d+)\n/
      ))
    let threshold = try #require(Int(found.1))
    page.expect("\(threshold) wrong codes within an hour")
    #expect(threshold * 10 < limits[.wrongCodesPerAppPerDay])
    // Both budgets are among the limits that the other alert watches.
    alerts.expect(#"countersign_limited_total{limit=~"country|total|total_.*|app_.*"}"#)
    page.expect("`CountersignBudgetReached`")
    let names = Limit.refusing.map(\.label)
    #expect(names.contains("app_wrong_codes") && names.contains("total_wrong_codes"))
  }

  @Test func `Bounds of queues, users, bodies and JSON are those of the code`() {
    page.expect(
      "\(grouped(PolicyDeclaration.servicesLength)) messages", "\(PolicyDeclaration.servicesBytes >> 20) MiB",
      "\(PolicyDeclaration.servicesExpiry / 60_000) minutes", "\(PolicyDeclaration.deadLetterAge.hours / 24) days",
      "\(MessageLimits.maxBodyBytes >> 10) KiB", "\(JSONReader.maxDepth) levels")
    for user in UserDeclaration.countersign {
      #expect(!user.limits.isEmpty == ["service", "sender", "gateway"].contains(user.name), "\(user.name)")
    }
  }

  @Test(
    arguments: [
      ("AMQP/Wire/Trust.swift", "amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST)"),
      ("HTTPClient/Slot.swift", "easy.set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)"),
      ("SMTPClient/SMTPHandle.swift", "easy.set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)"),
      ("../C/CSMPP34/shim.h", "SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION)"),
    ])
  func `Every transport asks for TLS 1.2 at least`(file: String, setting: String) throws {
    #expect(try Page("Sources/Transport/" + file).text.contains(setting))
  }

  @Test func `Secrets are compared by OpenSSL in constant time, and unknown verifications too`() throws {
    #expect(try Page("Sources/Base/Cryptography/Hashing.swift").text.contains("CRYPTO_memcmp(a, b, a.count) == 0"))
    let check = try Page("Sources/Coordinator/Coordination/Verification/CheckOrder.swift").text
    let unknown = try #require(
      check.firstRange(of: "guard let before = try records.found(order.verificationID, in: set) else {"))
    #expect(check[unknown.upperBound...].drop(while: \.isWhitespace).hasPrefix("codes.matchNothing(order.code)"))
  }

  @Test func `Tokens that workers sign expire within an hour`() {
    for life in [ProviderTokens.longestLife, ServiceAccountAssertion.life, ClientSecret.life] {
      #expect(life <= .seconds(3600))
    }
  }

  @Test(arguments: try unitFiles())
  func `Each unit of systemd takes away what the page says`(_ unit: String) throws {
    let lines = try Page("deploy/systemd/\(unit)").text.split(separator: "\n").map(String.init)
    let user = try #require(lines.first { $0.hasPrefix("User=") })
    #expect(user.hasPrefix("User=countersign-"))
    for line in ["CapabilityBoundingSet=", "ProtectSystem=strict", "SystemCallFilter=@system-service", "LimitCORE=0"] {
      #expect(lines.contains(line), "\(line)")
    }
    // The state directory is all that may be written: nothing else is named.
    #expect(lines.contains { $0.hasPrefix("StateDirectory=") } && !lines.contains { $0.hasPrefix("ReadWritePaths=") })
  }

  fileprivate static func unitFiles() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: Repository.root + "/deploy/systemd")
      .filter { $0.hasSuffix(".service") }.sorted()
  }
}
