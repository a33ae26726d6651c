import CountersignMessages
import CountersignTelemetry
import Dispatch
import PasswordHashing
import TestSupport
import Testing

@testable import Accounts
@testable import CommandEngine

/// Whether a command hashes shows where the pool is full: one that does is refused as busy.
@Suite("What is hashed", .timeLimit(.minutes(10)))
struct HashingTests {
  let bench: AccountsBench
  private let gate = DispatchSemaphore(value: 0)

  init() async throws {
    bench = try await AccountsBench()
    bench.usePasswords()
  }

  /// Sends commands while every thread and place of the pool is taken.
  private func whileBusy(_ body: () async throws -> Void) async throws {
    let (gate, pool) = (gate, bench.parts.passwords.pool)
    let taken = bench.parts.rules.hashingThreads + AccountRules.hashingPlaces
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<taken {
        group.addTask { try await pool.run { () throws(PasswordHashingError) in gate.wait() } }
      }
      while pool.waiting < AccountRules.hashingPlaces { await Task.yield() }
      defer { for _ in 0..<taken { gate.signal() } }
      try await body()
    }
  }

  @Test func `An address is hashed for whether or not an account has it, so that time tells nothing`() async throws {
    _ = try await bench.signUp(email: "known@example.com")
    _ = try await bench.signIn(at: "google.com", FakeProvider.Token("g", email: "google@example.com"))
    try await whileBusy { () async throws in
      for email in ["known@example.com", "google@example.com", "nobody@example.com"] {
        let busy = try await bench.signIn(email: email).error
        #expect(busy?.code == .internalError && busy?.reason == "BUSY" && busy?.retryAfter == 1, "\(email)")
        #expect(try await bench.signUp(email: email).error?.reason == "BUSY", "\(email)")
      }
    }
    // Nothing was counted, and the same message succeeds later.
    #expect(try await bench.signIn(email: "known@example.com").reply.tokens != nil)
  }

  @Test func `What is refused without it is not hashed`() async throws {
    let user = try await bench.signUp(email: AccountsBench.email)
    let guest = try await bench.signUp("g")
    let ip = "192.0.2.1"
    for _ in 0..<10 {
      bench.clock.advance(by: WrongPasswords.longestPause + .seconds(2))
      _ = try await bench.signIn(email: AccountsBench.email, AccountsBench.otherPassword, ip: ip)
    }
    let token = try await bench.refresh(user.refreshToken)
    try await whileBusy { () async throws in
      #expect(try await bench.signIn(email: AccountsBench.email, ip: ip).error?.code == .tooManyAttempts)
      #expect(try await bench.signUp(email: "bo@example.com", "12345").error?.code == .weakPassword)
      #expect(try await bench.signUp(email: "bo@example.com", idToken: Secret("x")).error?.code == .invalidIDToken)
      #expect(try await bench.change(Secret("x"), password: "another one").error?.code == .invalidIDToken)
      #expect(try await bench.change(token, password: "12345").error?.code == .weakPassword)
      #expect(try await bench.refusal(of: bench.refresh(guest.refreshToken)) == nil)
    }
  }
}
