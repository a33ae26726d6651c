import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

extension AccountsBench {
  static let factorNumber = "+16505550177"

  func useFactors() {
    usePasswords { $0.methods.insert(.phoneSecondFactor) }
  }

  /// Whom a second factor is asked of.
  enum FactorAsker {
    case user(Secret?)
    case pending(Secret?)
  }

  /// A user with a password and a verified address.
  func makeUser(email: String = email) async throws -> Answer {
    let user = try await signUp(email: email)
    try await verifyEmail(of: user)
    return user
  }

  /// A user with a number as second factor.
  func makeFactorUser(isFictional: Bool = false) async throws -> Answer {
    useFactors()
    return try await enroll(try await makeUser(), isFictional: isFictional)
  }

  func enroll(
    _ user: Answer, _ number: String = factorNumber, isFictional: Bool = false
  ) async throws -> Answer {
    let started = try await start(.user(user.idToken), number: number, isFictional: isFictional)
    let enrolled = try await finish(.user(user.idToken), session: started.verification?.verificationID)
    #expect(enrolled.error == nil)
    return enrolled
  }

  /// Gives the password, and takes the pending credential.
  func pend(email: String = email) async throws -> (credential: Secret, factors: [SecondFactorView]) {
    let id = nextID()
    let answer = try await signIn(email: email, id: id)
    #expect(answer.reply.tokens == nil)
    return (try pendingCredential(of: answer, id), try #require(answer.reply.secondFactors))
  }

  func pendingCredential(of answer: Answer, _ id: String) throws -> Secret {
    try opened(try #require(answer.reply.pendingCredential), AccountSignedIn.type, id: id)
  }

  // MARK: Starting

  struct Started {
    var verification: VerificationStarted?
    var error: APIError?

    init(_ message: Message) throws {
      if message.type == ErrorReply.type.text {
        error = try ErrorReply(json: message.body).error
      } else {
        verification = try SecondFactorStarted(json: message.body).verification
      }
    }
  }

  func starting(
    _ asker: FactorAsker, _ id: String, number: String? = nil, enrollmentID: String? = nil,
    replyKey key: String? = nil, _ change: (inout StartSecondFactor) throws -> Void = { _ in }
  ) throws -> StartSecondFactor {
    let key = key ?? replyKey.publicKey.jwk
    var command = StartSecondFactor(project: Self.project, kind: .phone, replyKey: key)
    command.app = Self.app
    (command.phoneNumber, command.enrollmentID) = (number, enrollmentID)
    switch asker {
    case .user(let token): command.idToken = try token.map { try sealFactor($0, StartSecondFactor.self, id, key) }
    case .pending(let text):
      command.pendingCredential = try text.map { try sealFactor($0, StartSecondFactor.self, id, key) }
    }
    try change(&command)
    return command
  }

  func sealFactor<C: Command>(_ secret: Secret, _ type: C.Type, _ id: String, _ key: String) throws -> SecretField {
    let context = AccountCommandFields.context(of: C.type, messageID: id, replyKey: key)
    return try PublicSealer(key: secrets.sealingKey.publicKey).seal(secret, for: context)
  }

  func start(
    _ asker: FactorAsker, number: String? = nil, enrollmentID: String? = nil, id: String? = nil,
    isFictional: Bool = false, _ change: (inout StartSecondFactor) throws -> Void = { _ in }
  ) async throws -> Started {
    let id = id ?? nextID()
    let command = try starting(asker, id, number: number, enrollmentID: enrollmentID, change)
    if let reply = try await send(command, id: id) { return try Started(reply) }
    await report(
      try coordinator.answer(start: try #require(checks.first), isFictional: isFictional, at: clock.now()))
    return try Started(try #require(replies.first))
  }

  // MARK: Finishing

  func finishing(
    _ asker: FactorAsker, _ id: String, session: String?, code: String? = "123456", replyKey key: String? = nil,
    _ change: (inout FinishSecondFactor) throws -> Void = { _ in }
  ) throws -> FinishSecondFactor {
    let key = key ?? replyKey.publicKey.jwk
    func seal(_ secret: Secret?) throws -> SecretField? {
      try secret.map { try sealFactor($0, FinishSecondFactor.self, id, key) }
    }
    var command = FinishSecondFactor(project: Self.project, kind: .phone, replyKey: key)
    command.app = Self.app
    switch asker {
    case .user(let token): command.idToken = try seal(token)
    case .pending(let text): command.pendingCredential = try seal(text)
    }
    command.sessionInfo = try seal(session.map { Secret($0) })
    command.code = try seal(code.map { Secret($0) })
    try change(&command)
    return command
  }

  func finish(
    _ asker: FactorAsker, session: String?, code: String? = "123456", id: String? = nil,
    _ change: (inout FinishSecondFactor) throws -> Void = { _ in }
  ) async throws -> Answer {
    let id = id ?? nextID()
    let command = try finishing(asker, id, session: session, code: code, change)
    if let reply = try await send(command, id: id) { return try answer(reply, id) }
    await report(try coordinator.answer(try #require(checks.first), at: clock.now()))
    return try answer(try #require(replies.first), id)
  }

  /// Session of a start for a factor that stands.
  func startSignIn(_ pending: Secret, _ enrollmentID: String) async throws -> String {
    let started = try await start(.pending(pending), enrollmentID: enrollmentID)
    return try #require(started.verification?.verificationID)
  }

  func factors(of user: Answer) async throws -> [SecondFactor] {
    try #require(try await account(of: user)).secondFactors
  }
}
