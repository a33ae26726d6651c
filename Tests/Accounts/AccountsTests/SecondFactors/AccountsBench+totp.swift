import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

extension AccountsBench {
  /// The project with passwords, and with authenticators unless a test takes them away.
  func useTOTP(_ change: (inout Project) -> Void = { _ in }) {
    useLinks { project in
      project.methods.formUnion([.totp, .phone, .anonymous, .provider("google.com")])
      change(&project)
    }
  }

  /// A shared secret as the device has it.
  struct Authenticator {
    let shared: SharedSecret
    let totp: TOTP

    init(_ shared: SharedSecret) throws {
      self.shared = shared
      let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
      let bits = try shared.key.flatMap { digit in
        let value = try #require(alphabet.firstIndex(of: digit))
        return stride(from: 4, through: 0, by: -1).map { UInt8(value >> $0 & 1) }
      }
      let bytes = stride(from: 0, to: bits.count, by: 8).map { bits[$0..<$0 + 8].reduce(UInt8(0)) { $0 << 1 | $1 } }
      totp = TOTP(secret: bytes)
    }

    func code(at now: UnixTime, steps: Int64 = 0) -> String {
      String(decoding: totp.code(of: UInt64(TOTP.step(at: now) + steps)), as: UTF8.self)
    }

    /// A code that none of the present steps has.
    func wrongCode(at now: UnixTime) throws -> String {
      let right = (Int64(-1)...1).map { code(at: now, steps: $0) }
      return try #require(["000000", "111111", "222222", "333333"].first { !right.contains($0) })
    }
  }

  /// An account with a proven address, and its session.
  func provenUser(_ email: String = email) async throws -> Answer {
    let user = try await signUp(email: email)
    try await verifyEmail(of: user)
    return user
  }

  func startingTOTP(_ idToken: Secret?, id: String) throws -> StartSecondFactor {
    var command = StartSecondFactor(project: Self.project, kind: .totp, replyKey: replyKey.publicKey.jwk)
    command.idToken = try idToken.map { try sealBound($0, StartSecondFactor.self, id) }
    return command
  }

  func startTOTP(_ idToken: Secret?, id: String? = nil) async throws -> Authenticator {
    let id = id ?? nextID()
    return try authenticator(in: try await ask(startingTOTP(idToken, id: id), id: id), id)
  }

  /// The authenticator that has taken the secret of a start.
  func authenticator(in reply: Message, _ id: String) throws -> Authenticator {
    try #require(reply.type == SecondFactorStarted.type.text, "\(String(decoding: reply.body, as: UTF8.self))")
    let secret = try #require(try SecondFactorStarted(json: reply.body).sharedSecret)
    return try Authenticator(SharedSecret(text: opened(secret, SecondFactorStarted.type, id: id)))
  }

  func finishingTOTP(
    _ code: String?, id: String, idToken: Secret? = nil, session: String? = nil, pending: Secret? = nil,
    enrollmentID: String? = nil
  ) throws -> FinishSecondFactor {
    func seal(_ text: String?) throws -> SecretField? {
      try text.map { try sealBound(Secret($0), FinishSecondFactor.self, id) }
    }
    var command = FinishSecondFactor(project: Self.project, kind: .totp, replyKey: replyKey.publicKey.jwk)
    command.code = try seal(code)
    command.idToken = try seal(idToken?.reveal())
    command.sessionInfo = try seal(session)
    command.pendingCredential = try seal(pending?.reveal())
    command.enrollmentID = enrollmentID
    return command
  }

  func enroll(
    _ authenticator: Authenticator, _ idToken: Secret?, code: String? = nil, id: String? = nil,
    _ change: (inout FinishSecondFactor) -> Void = { _ in }
  ) async throws -> Answer {
    let id = id ?? nextID()
    var command = try finishingTOTP(
      code ?? authenticator.code(at: clock.now()), id: id, idToken: idToken,
      session: authenticator.shared.sessionInfo)
    change(&command)
    return try answer(try await ask(command, id: id), id)
  }

  struct Enrolled {
    let user: Answer
    let authenticator: Authenticator
    let id: String
  }

  /// An account whose authenticator has used up the present code and the next one.
  func enrolledUser(_ email: String = email) async throws -> Enrolled {
    let first = try await provenUser(email)
    let authenticator = try await startTOTP(first.idToken)
    let user = try await enroll(authenticator, first.idToken)
    let id = try #require(try await account(of: user)?.secondFactors.last?.enrollmentID)
    clock.advance(by: .seconds(60))
    return Enrolled(user: user, authenticator: authenticator, id: id)
  }

  /// Pending credential of a password.
  func pendingCredential(_ email: String = email) async throws -> Secret {
    let id = nextID()
    let answer = try await signIn(email: email, id: id)
    let field = try #require(answer.reply.pendingCredential, "\(answer.error?.description ?? "")")
    #expect(answer.reply.tokens == nil)
    return try opened(field, AccountSignedIn.type, id: id)
  }

  func signIn(pending: Secret?, factor: String?, code: String?, id: String? = nil) async throws -> Answer {
    let id = id ?? nextID()
    let command = try finishingTOTP(code, id: id, pending: pending, enrollmentID: factor)
    return try answer(try await ask(command, id: id), id)
  }

  /// Signs in by password and the present code.
  func signIn(_ enrolled: Enrolled, email: String = email) async throws -> Answer {
    let pending = try await pendingCredential(email)
    return try await signIn(
      pending: pending, factor: enrolled.id, code: enrolled.authenticator.code(at: clock.now()))
  }

  func withdrawing(_ enrollmentID: String, _ idToken: Secret?, id: String) throws -> WithdrawSecondFactor {
    WithdrawSecondFactor(
      project: Self.project, idToken: try sealBound(#require(idToken), WithdrawSecondFactor.self, id),
      enrollmentID: enrollmentID, replyKey: replyKey.publicKey.jwk)
  }

  func withdraw(_ enrollmentID: String, _ idToken: Secret?, id: String? = nil) async throws -> Answer {
    let id = id ?? nextID()
    return try answer(try await ask(withdrawing(enrollmentID, idToken, id: id), id: id), id)
  }
}
