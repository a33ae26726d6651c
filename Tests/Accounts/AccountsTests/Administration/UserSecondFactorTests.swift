import CommandEngine
import CountersignAMQP
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Accounts

@Suite struct UserSecondFactorTests {
  private static let number = "+16505550101"
  private static let other = "+16505550102"

  private func user(
    _ factors: [UserSecondFactor]?, _ change: (inout UserFields) -> Void = { _ in }
  ) -> UserFields {
    var user = UserFields(localID: "ada")
    (user.email, user.emailVerified, user.secondFactors) = ("ada@example.com", true, factors)
    change(&user)
    return user
  }

  private func factor(
    _ number: String?, _ enrollmentID: String? = nil, _ name: String? = nil, at time: UnixTime? = nil
  ) -> UserSecondFactor {
    var factor = UserSecondFactor(enrollmentID: enrollmentID, phoneNumber: number)
    (factor.displayName, factor.enrolledAt) = (name, time)
    return factor
  }

  private func factors(_ bench: AccountsBench) async throws -> [SecondFactor] {
    try #require(try await bench.find("ada")).secondFactors
  }

  /// Second factors that the last command has enrolled and withdrawn.
  private func events(_ bench: AccountsBench) throws -> [String] {
    try bench.events("account.secondFactorEnrolled").map {
      try "+" + SecondFactorEnrolled(json: $0.message.body).enrollmentID
    }
      + bench.events("account.secondFactorWithdrawn").map {
        try "-" + SecondFactorWithdrawn(json: $0.message.body).enrollmentID
      }
  }

  /// The account with a TOTP factor whose key nobody has any longer, beside what it has.
  private func addSecret(_ enrollmentID: String, in bench: AccountsBench) async throws {
    try await bench.change(try #require(try await bench.find("ada"))) { account, set in
      var factor = SecondFactor(.totp, enrollmentID: enrollmentID, enrolledAt: set.now)
      factor.secret = SealedSharedSecret(sealed: "sealed", sealedUnder: "gone")
      factor.lastStep = 7
      account.secondFactors.append(factor)
    }
  }

  @Test func `An administrator gives a new account second factors, and each has its ID`() async throws {
    let bench = try await AccountsBench()
    let enrolledAt = bench.clock.now() - .seconds(500)
    let future = bench.clock.now() + .seconds(500)
    let made = try await bench.create(
      user([
        factor(Self.number, nil, "Work"), factor(Self.other, "e-1", at: enrolledAt), factor("+16505550103", at: future),
      ]))
    let view = try #require(try AccountChanged(json: made.body).account.secondFactors)
    #expect(view.map(\.phoneNumber) == [Self.other, Self.number, "+16505550103"])
    #expect(view.map(\.displayName) == [nil, "Work", nil] && view.map(\.kind) == [.phone, .phone, .phone])
    #expect(view.map(\.enrolledAt) == [enrolledAt, bench.clock.now(), bench.clock.now()])
    #expect(view[0].enrollmentID == "e-1" && Set(view.map(\.enrollmentID)).count == 3)
    #expect(view[1].enrollmentID.utf8.count == SecondFactor.idLength)
    #expect(bench.events("account.administered").count == 1)
  }

  @Test func `A change takes the place of all, and what stays keeps its secret`() async throws {
    let bench = try await AccountsBench()
    _ = try await bench.create(user([factor(Self.number, "e-1"), factor(Self.other, "e-2", "Old")]))
    bench.clock.advance(by: .seconds(60))
    try await addSecret("e-3", in: bench)
    let before = try await factors(bench)
    // Other changes leave them.
    _ = try await bench.change(user(nil) { $0.displayName = "Ada" })
    #expect(try await factors(bench) == before)
    bench.clock.advance(by: .seconds(60))
    // A number without an ID is the factor that has it.
    _ = try await bench.change(
      user([factor(nil, "e-3", "App"), factor(Self.other, nil, "New"), factor("+16505550103", "e-4")]))
    var expected = Array(before[1...])
    (expected[0].displayName, expected[1].displayName) = ("New", "App")
    let after = try await factors(bench)
    #expect(Array(after[..<2]) == expected && after[1].secret?.sealedUnder == "gone" && after[1].lastStep == 7)
    #expect(after[2].enrollmentID == "e-4" && after[2].enrolledAt == bench.clock.now())
    #expect(try events(bench) == ["+e-4", "-e-1"])
    // Another number for a factor that stays.
    _ = try await bench.change(user([factor(Self.number, "e-2"), factor(nil, "e-4")]))
    #expect(try await factors(bench).map(\.phoneNumber) == [Self.number, "+16505550103"])
    // The one whose key is gone is withdrawn like any other.
    #expect(try events(bench) == ["+e-2", "-e-2", "-e-3"])
    _ = try await bench.change(user([]))
    #expect(try await factors(bench).isEmpty)
  }

  @Test func `Second factors that an account cannot have are refused, and nothing changes`() async throws {
    let bench = try await AccountsBench()
    _ = try await bench.create(user([factor(Self.number, "e-1")]) { $0.phoneNumber = "+16505550199" })
    try await addSecret("e-2", in: bench)
    let before = try await bench.find("ada")
    let six = (0..<6).map { factor("+1650555010\($0)") }
    let wrong: [(String, UserFields, APIErrorCode)] = [
      ("six", user(six), .secondFactorLimitExceeded),
      ("number", user([factor("0650")]), .invalidPhoneNumber),
      ("masked number", user([factor("+*******0101")]), .invalidPhoneNumber),
      ("number twice", user([factor(Self.other), factor(Self.other)]), .secondFactorExists),
      ("number of one that stays", user([factor(nil, "e-1"), factor(Self.number, "e-3")]), .secondFactorExists),
      ("ID twice", user([factor(Self.other, "e"), factor(Self.number, "e")]), .secondFactorExists),
      ("own number", user([factor("+16505550199")]), .unsupportedFirstFactor),
      ("number that is one", user(nil) { $0.phoneNumber = Self.number }, .unsupportedFirstFactor),
      ("neither", user([factor(nil)]), .missingEnrollmentID),
      ("unknown ID", user([factor(nil, "e-9")]), .enrollmentNotFound),
      ("number of a secret", user([factor(Self.other, "e-2")]), .invalidArgument),
      ("ID with spaces", user([factor(Self.other, "e 1")]), .invalidArgument),
      ("empty ID", user([factor(Self.other, "")]), .invalidArgument),
      ("long ID", user([factor(Self.other, String(repeating: "e", count: 65))]), .invalidArgument),
      ("name", user([factor(Self.other, nil, String(repeating: "n", count: 257))]), .invalidArgument),
      ("address", user([factor(Self.other)]) { $0.emailVerified = false }, .unverifiedEmail),
      (
        "new address", user([factor(Self.other)]) { ($0.email, $0.emailVerified) = ("b@example.com", nil) },
        .unverifiedEmail
      ),
    ]
    for (name, fields, expected) in wrong {
      let reply = try await bench.change(fields)
      #expect(try code(reply) == expected, "\(name)")
      #expect(!String(decoding: reply.body, as: UTF8.self).contains("+1650"), "\(name)")
    }
    #expect(try await bench.find("ada") == before)
    #expect(
      try code(try await bench.create(user([factor(Self.number)]) { ($0.localID, $0.email) = ("b", nil) }))
        == .unverifiedEmail)
    // Without new ones the address does not matter.
    #expect(try code(try await bench.change(user([factor(nil, "e-1")]) { $0.emailVerified = false })) == nil)
  }

  @Test func `Sessions of a second factor that is taken away end, and others go on`() async throws {
    let bench = try await AccountsBench()
    _ = try await bench.create(user([factor(Self.number, "e-1")]))
    let account = try #require(try await bench.find("ada"))
    let sessions = bench.parts.sessions
    for given in [nil, account.secondFactor("e-1")] {
      let random = RandomValues()
      try await bench.change(account) { account, set throws(StoreError) in
        _ = try sessions.start(for: &account, by: .password, with: given, random, in: &set)
      }
    }
    _ = try await bench.change(user([factor(nil, "e-1", "Work"), factor(Self.other)]))
    #expect(try await bench.sessions(of: account).count == 2)
    _ = try await bench.change(user([factor("+16505550103", "e-1")]))
    #expect(try await bench.sessions(of: account).map(\.enrollmentID) == [nil])
  }

  // MARK: Import

  private func refused(_ bench: AccountsBench, _ users: [UserFields]) async throws -> [String] {
    try AccountsImported(json: try await bench.importing(UserBatch(users: users)).body).refused.map {
      String($0.message.prefix { $0 != " " })
    }
  }

  @Test func `An import brings second factors in, and the same again changes nothing`() async throws {
    let bench = try await AccountsBench()
    let enrolledAt = bench.clock.now() - .seconds(500)
    let row = user([factor(Self.number, "e-1", "Work", at: enrolledAt), factor(Self.other)])
    #expect(try await refused(bench, [row]).isEmpty)
    let before = try #require(try await bench.find("ada"))
    #expect(before.secondFactors.map(\.phoneNumber) == [Self.number, Self.other])
    #expect(before.secondFactors[0].enrolledAt == enrolledAt && before.secondFactors[0].displayName == "Work")
    bench.clock.advance(by: .seconds(60))
    // A file without them, such as one of CSV, leaves them.
    for row in [row, user(nil)] {
      #expect(try await refused(bench, [row]).isEmpty)
      #expect(try await bench.find("ada") == before)
    }
    #expect(try await refused(bench, [user([])]).isEmpty)
    let after = try #require(try await bench.find("ada"))
    #expect(after.secondFactors.isEmpty && after.validSince > before.validSince)
  }

  @Test func `An imported factor without a number stays where its secret is, and is left out elsewhere`() async throws {
    let bench = try await AccountsBench()
    let row = user([factor(nil, "e-2", "App"), factor(Self.number, "e-1")])
    #expect(try await refused(bench, [row]).isEmpty)
    #expect(try await factors(bench).map(\.enrollmentID) == ["e-1"])
    try await addSecret("e-2", in: bench)
    #expect(try await refused(bench, [row]).isEmpty)
    let kept = try #require(try await factors(bench).first { $0.kind == .totp })
    #expect(kept.secret?.sealedUnder == "gone" && kept.displayName == "App")
  }

  @Test func `A row with a wrong second factor is refused alone`() async throws {
    let bench = try await AccountsBench()
    let rows: [([UserSecondFactor], Bool)] = [
      ([factor("0650")], true), ([factor(Self.number)], false), ([factor(nil)], true), ([factor(Self.other)], true),
    ]
    let users = rows.enumerated().map { index, row in
      user(row.0) { ($0.localID, $0.email, $0.emailVerified) = ("u\(index)", "u\(index)@example.com", row.1) }
    }
    #expect(
      try await refused(bench, users) == ["INVALID_PHONE_NUMBER", "UNVERIFIED_EMAIL", "MISSING_MFA_ENROLLMENT_ID"])
    #expect(try await bench.find("u3")?.secondFactors.map(\.phoneNumber) == [Self.other])
  }
}
