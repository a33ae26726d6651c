import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Accounts

@Suite struct LimitTests {
  private func subject(
    ip: String? = "192.0.2.1", mail: String = "ada@example.com", project: String = AccountsBench.project
  ) -> LimitSubject {
    LimitSubject(project: project, address: ip.flatMap { ClientAddress($0) }, mailAddress: mail)
  }

  private func with(_ limit: Limit, _ figure: Int, _ body: (AccountsBench) async throws -> Void) async throws {
    try await AccountsBench.with({ $0.limits[limit] = figure }, body)
  }

  /// One more of an action, unless a limit refuses it.
  private func act(
    _ limits: [Limit], _ subject: LimitSubject, _ bench: AccountsBench
  ) async throws -> LimitRefusal? {
    let limits = bench.parts.reader.limits(limits, of: subject)
    return try await bench.transact { set throws(StoreError) in
      if let refusal = try limits.refusal(in: set) { return refusal }
      try limits.count(in: &set)
      return nil
    }
  }

  @Test func `Rows have names, counters and keys of their own`() {
    #expect(Set(Limit.all.map(\.label)).count == Limit.all.count)
    #expect(Set(Limit.all.map { "\($0.counter)" }).count == Limit.all.count)
    let own = Limit.all.filter { !$0.isOfNetwork }
    #expect(Set(own.map(\.key)).count == own.count)
    #expect(Limit.all.allSatisfy { Limits.development[$0] >= 1_000_000 })
  }

  @Test func `Mails are limited for their address, the network and the project`() async throws {
    try await with(.mailLinksPerProject, 56) { bench async throws in
      for number in 1...5 {
        #expect(try await act(Limit.mailLinks, subject(ip: "198.51.\(number).1"), bench) == nil)
      }
      let refusal = try #require(try await act(Limit.mailLinks, subject(ip: "203.0.113.1"), bench))
      #expect(refusal.limit == .mailLinksPerMailAddress)
      #expect(refusal.limit.field == nil && APIError(refusal).reason == "MAIL_LIMIT")
      #expect((3600...3660).contains(APIError(refusal).retryAfter ?? 0))
      for number in 1...50 {
        #expect(
          try await act(Limit.mailLinks, subject(ip: "192.0.2.\(number)", mail: "\(number)@a.example"), bench) == nil)
      }
      #expect(
        try await act(Limit.mailLinks, subject(ip: "192.0.2.99", mail: "n@a.example"), bench)?.limit
          == .mailLinksPerNetwork)
      #expect(try await act(Limit.mailLinks, subject(ip: "203.0.113.9", mail: "o@a.example"), bench) == nil)
      #expect(
        try await act(Limit.mailLinks, subject(ip: "203.0.113.9", mail: "p@a.example"), bench)?.limit
          == .mailLinksPerProject)
      let elsewhere = subject(project: AccountsBench.otherProject)
      #expect(try await act(Limit.mailLinks, elsewhere, bench) == nil)
      bench.clock.advance(by: .seconds(3_660))
      #expect(try await act(Limit.mailLinks, subject(), bench) == nil)
    }
  }

  @Test func `A refusal says in whole seconds when the limit has passed`() {
    let error = APIError(LimitRefusal(limit: .mailLinksPerProject, wait: .milliseconds(1_001)))
    #expect(error.code == .tooManyAttempts && error.retryAfter == 2)
  }

  // MARK: Wrong passwords

  /// A password of a network is compared, unless it is refused.
  private func guess(_ ip: String?, isRight: Bool = false, mail: String = "ada@example.com", _ bench: AccountsBench)
    async throws -> LimitRefusal?
  {
    let passwords = bench.parts.reader.wrongPasswords(of: subject(ip: ip, mail: mail))
    return try await bench.transact { set throws(StoreError) in
      if let refusal = try passwords.refusal(in: set) { return refusal }
      if isRight { try passwords.countRight(in: &set) } else { try passwords.countWrong(in: &set) }
      return nil
    }
  }

  @Test func `A network has ten wrong passwords an hour for a mail address`() async throws {
    try await with(.slowingPasswords, 1_000) { bench async throws in
      for number in 1...10 { #expect(try await guess("192.0.2.\(number)", bench) == nil) }
      let refusal = try await guess("192.0.2.200", isRight: true, bench)
      #expect(refusal?.limit == .wrongPasswordsPerNetworkAndMailAddress)
      #expect(try await guess("198.51.100.1", isRight: true, bench) == nil)
      #expect(try await guess("192.0.2.1", mail: "bob@example.com", bench) == nil)
      bench.clock.advance(by: .seconds(3_660))
      #expect(try await guess("192.0.2.1", isRight: true, bench) == nil)
    }
  }

  @Test func `A network that guesses at many mail addresses is refused`() async throws {
    try await with(.wrongPasswordsPerNetwork, 20) { bench async throws in
      for number in 1...20 { #expect(try await guess("192.0.2.1", mail: "\(number)@a.example", bench) == nil) }
      #expect(try await guess("192.0.2.2", mail: "new@a.example", bench)?.limit == .wrongPasswordsPerNetwork)
      #expect(try await guess("192.0.3.2", mail: "new@a.example", bench) == nil)
    }
  }

  @Test func `Guesses of many networks only slow down, up to 30 s`() async throws {
    try await AccountsBench.with { bench async throws in
      for number in 1...5 { #expect(try await guess("198.51.\(number).1", bench) == nil) }
      for (number, pause) in [1, 2, 4, 8, 16, 30, 30, 30].enumerated() {
        let refusal = try #require(try await guess("203.0.\(number).1", isRight: true, bench))
        #expect(refusal.limit == .slowingPasswords)
        #expect((pause...pause + 1).contains(APIError(refusal).retryAfter ?? 0))
        bench.clock.advance(by: .seconds(pause + 1))
        #expect(try await guess("203.0.\(number).1", bench) == nil)
      }
      bench.clock.advance(by: .seconds(31))
      #expect(try await guess("203.0.100.1", isRight: true, bench) == nil)
    }
  }

  @Test func `A network of the right password neither waits for others nor slows them down, for 30 days`() async throws
  {
    try await AccountsBench.with { bench async throws in
      #expect(try await guess("192.0.2.1", isRight: true, bench) == nil)
      bench.clock.advance(by: .seconds(29 * 86_400))
      for number in 1...5 { #expect(try await guess("198.51.\(number).1", bench) == nil) }
      #expect(try await guess("203.0.113.1", bench)?.limit == .slowingPasswords)
      for _ in 1...10 { #expect(try await guess("192.0.2.7", bench) == nil) }
      #expect(try await guess("192.0.2.7", isRight: true, bench)?.limit == .wrongPasswordsPerNetworkAndMailAddress)
      bench.clock.advance(by: .seconds(2 * 86_400))
      for number in 1...5 { #expect(try await guess("198.51.\(number).1", bench) == nil) }
      #expect(try await guess("192.0.2.1", isRight: true, bench)?.limit == .slowingPasswords)
    }
  }

  @Test func `Without an address of the client nobody is known`() async throws {
    try await AccountsBench.with { bench async throws in
      #expect(try await guess(nil, isRight: true, bench) == nil)
      for _ in 1...5 { #expect(try await guess(nil, bench) == nil) }
      #expect(try await guess(nil, isRight: true, bench)?.limit == .slowingPasswords)
    }
  }
}
