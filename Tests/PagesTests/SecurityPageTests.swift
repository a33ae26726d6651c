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
    page.expect("Codes have \(word(policy.codeLength)) digits")
    page.expect("are valid for \(word(policy.lifetime.minutes)) minutes")
    page.expect(
      """
      The first requester of a code has \(word(policy.checksPerCode)) checks, all others together \
      \(word(policy.laterChecks)) (\(word(VerificationPolicy.checksForProvenHandles)) of them only for devices that have \
      proven themselves); a number has \(word(limits[.checksPerNumberPerHour])) checks an hour by first requesters and \
      \(word(limits[.checksPerNumberPerHour])) by all others
      """)
    #expect(policy.laterChecks == policy.laterChecksOfAnybody + VerificationPolicy.checksForProvenHandles)
    page.expect("uses up the \(word(policy.laterChecksOfAnybody)) guesses that all others without a proof share")
    page.expect(
      "(\(word(policy.lifetime.minutes)) minutes, \(word(policy.maximumLifetime.minutes)) if it is sent again)")
    page.expect("the last \(word(VerificationPolicy.checksForProvenHandles)) guesses are for proven devices")
  }

  @Test func `Chances of guessing are worked out from the default budgets`() {
    let checks = policy.checksPerCode + policy.laterChecks
    #expect(codes == 1_000_000)
    page.expect(
      "One guess succeeds with a chance of 1 in a million, a verification's \(word(checks)) with 1 in \(grouped(codes / checks))."
    )
    page.expect(
      """
      \(limits[.wrongCodesPerAddressPerHour]) an hour from an address (if services pass `client.ip` in \
      `verification.check`), \(grouped(limits[.wrongCodesPerAppPerDay])) a day for an app and \
      \(grouped(limits[.wrongCodesPerDay])) in total, and as many again for later requesters.
      """)
    // The first code of each verification is compared whatever the budgets are, and each verification costs a message.
    let bounded = limits[.sendsPerDay] + 2 * limits[.wrongCodesPerDay]
    let unbounded = limits[.sendsPerDay] * checks
    page.expect(
      """
      With the default budgets (\(grouped(limits[.sendsPerDay])) messages a day) at most \(grouped(bounded)) guesses a \
      day reach *some* account with a chance of \(percent(bounded, of: codes)), instead of \(grouped(unbounded)) and \
      \(percent(unbounded, of: codes)).
      """)
    page.expect(
      """
      The constant code of a fictional number can be tried \(word(limits[.wrongCodesPerFictionalNumberPerHour])) times an \
      hour, \(word(limits[.wrongCodesPerNetworkOfFictionalNumberPerHour])) of them from one network
      """)
  }

  @Test func `The alerts on wrong codes are those that the page describes`() throws {
    let alerts = try Page("deploy/prometheus/alerts.yml")
    let found = try #require(
      alerts.text.firstMatch(
        of:
          /CountersignWrongCodes\n\s+expr: \|\n\s+sum\(increase\(countersign_wrong_codes_total\{number="real"\}\[1h\]\)\) > (\d+)\n/
      ))
    let threshold = try #require(Int(found.1))
    page.expect("fires at more than \(threshold) wrong codes within an hour, if they are more than the right ones")
    #expect(threshold * 10 < limits[.wrongCodesPerAppPerDay])
    // Both budgets are among the limits that the other alert watches.
    alerts.expect(#"countersign_limited_total{limit=~"country|total|total_.*|app_.*"}"#)
    page.expect("`CountersignBudgetReached` fires when a budget is used up")
    let names = Limit.refusing.map(\.label)
    #expect(names.contains("app_wrong_codes") && names.contains("total_wrong_codes"))
  }

  @Test func `Bounds of queues, users, bodies and JSON are those of the code`() {
    page.expect(
      """
      (\(grouped(PolicyDeclaration.servicesLength)) messages, \(PolicyDeclaration.servicesBytes >> 20) MiB, deleted \
      \(PolicyDeclaration.servicesExpiry / 60_000) minutes after their last use)
      """)
    page.expect("which the broker drops after \(PolicyDeclaration.deadLetterAge.hours / 24) days")
    page.expect("Bodies are bounded (\(MessageLimits.maxBodyBytes >> 10) KiB)")
    page.expect("at most \(JSONReader.maxDepth) levels deep")
    for user in UserDeclaration.countersign {
      #expect((user.limits != nil) == ["service", "sender", "gateway"].contains(user.name), "\(user.name)")
    }
    page.expect("`service`, `sender` and `gateway` are limited in connections and channels")
  }

  @Test(
    arguments: [
      ("AMQP/Wire/Trust.swift", "amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST)"),
      ("HTTPClient/Slot.swift", "easy.set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)"),
      ("SMTPClient/SMTPHandle.swift", "easy.set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)"),
      ("../C/CSMPP34/shim.h", "SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION)"),
    ])
  func `Every transport asks for TLS 1.2 at least`(file: String, setting: String) throws {
    page.expect("`amqps://`, HTTPS, SMTP and SMPP with TLS 1.2 or newer")
    #expect(try Page("Sources/Transport/" + file).text.contains(setting))
  }

  @Test func `Secrets are compared by OpenSSL in constant time, and unknown verifications too`() throws {
    page.expect("comparison, which is OpenSSL's in constant time")
    page.expect("an unknown verification ID costs the same comparison")
    #expect(try Page("Sources/Base/Cryptography/Hashing.swift").text.contains("CRYPTO_memcmp(a, b, a.count) == 0"))
    let check = try Page("Sources/Coordinator/Coordination/Verification/CheckOrder.swift").text
    let unknown = try #require(
      check.firstRange(of: "guard let before = try records.found(order.verificationID, in: set) else {"))
    #expect(check[unknown.upperBound...].drop(while: \.isWhitespace).hasPrefix("codes.matchNothing(order.code)"))
  }

  @Test func `Tokens that workers sign expire within an hour`() {
    page.expect("the tokens they sign expire within an hour")
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
