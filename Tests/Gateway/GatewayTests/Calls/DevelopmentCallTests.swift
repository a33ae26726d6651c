import CountersignAMQP
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Synchronization
import TestSupport
import Testing

@testable import Gateway

@Suite struct DevelopmentCallTests {
  private static let accounts = "/emulator/v1/projects/example/accounts"
  private static let codes = "/emulator/v1/projects/example/verificationCodes"
  private static let mailed = "/emulator/v1/projects/example/oobCodes"
  /// The list that stock tools look in, however short.
  private static let noCodes: JSONValue = ["verificationCodes": []]
  private static let send = CallFixture.v1 + "accounts:sendVerificationCode"

  private final class Messages: SentMessages {
    let sent = Mutex<Result<[SentMessage], ProtocolError>>(.success([]))

    func messages() async throws(ProtocolError) -> [SentMessage] { try sent.withLock { $0 }.get() }
    func mails() async throws(ProtocolError) -> [SentMessage] { try sent.withLock { $0 }.get() }

    func add(_ number: String, _ body: String, after seconds: Int64 = 0) {
      let message = SentMessage(to: number, body: body, receivedAt: CallFixture.now + .seconds(seconds))
      sent.withLock { $0 = .success(((try? $0.get()) ?? []) + [message]) }
    }
  }

  private final class Sessions: Sendable {
    private let count = Mutex(0)

    func next() -> String {
      count.withLock { count in
        count += 1
        return "session-\(count)"
      }
    }
  }

  private func fixture(
    _ messages: Messages?, onPause: @escaping @Sendable () -> Void = {}
  ) throws -> CallFixture {
    let fixture = try CallFixture(isDevelopment: true, messages: messages, onPause: onPause)
    let sessions = Sessions()
    fixture.services.on(StartVerification.self) { command, _ in
      var started = PhoneCallTests.started(command, testNumber: command.phoneNumber == "+16505553434")
      started.verificationID = sessions.next()
      return started
    }
    fixture.services.on(ResetAccounts.self) { command, _ in
      #expect(command.project == "example")
      return AccountsReset(deleted: 1)
    }
    fixture.services.on(ResetDevelopment.self) { _, _ in DevelopmentReset() }
    return fixture
  }

  private static func entry(_ number: String, _ session: String, _ code: String) -> JSONValue {
    ["phoneNumber": .text(number), "sessionInfo": .text(session), "code": .text(code)]
  }

  @Test func `Numbers are shown with their newest session and code, until it is used`() async throws {
    let messages = Messages()
    let fixture = try fixture(messages)
    messages.add("+14155550123", "111111 is an old code", after: -10)
    for number in ["+14155550123", "+14155550124", "+16505553434"] {
      _ = try await fixture.post(Self.send, #"{"phoneNumber":"\#(number)"}"#)
    }
    #expect(try await fixture.get(Self.codes) == Self.noCodes)
    messages.add("+14155550123", "476431 é seu código para Example 2026.\n@example.com #476431")
    messages.add("+14155550124", "000123 is your code", after: 1)
    let first = Self.entry("+14155550123", "session-1", "476431")
    let second = Self.entry("+14155550124", "session-2", "000123")
    #expect(try await fixture.get(Self.codes) == ["verificationCodes": [first, second]])
    // Asked again within its life: another session for the same code, whose SMS is older.
    fixture.clocks.advance(by: .seconds(20))
    _ = try await fixture.post(Self.send, #"{"phoneNumber":"+14155550123"}"#)
    let again = Self.entry("+14155550123", "session-4", "476431")
    #expect(try await fixture.get(Self.codes) == ["verificationCodes": [second, again]])
    try await signIn(fixture, "session-4")
    #expect(try await fixture.get(Self.codes) == ["verificationCodes": [second]])
    // After the use of the code there is a new one, whose SMS is not there yet.
    fixture.clocks.advance(by: .seconds(1))
    _ = try await fixture.post(Self.send, #"{"phoneNumber":"+14155550123"}"#)
    #expect(try await fixture.get(Self.codes) == ["verificationCodes": [second]])
    fixture.clocks.advance(by: .seconds(301))
    #expect(try await fixture.get(Self.codes) == Self.noCodes)
  }

  @Test func `Codes of second factors are shown too, with the number that the SMS went to`() async throws {
    let messages = Messages()
    let fixture = try fixture(messages)
    let factors = CallFixture.v2 + "accounts/mfa"
    fixture.services.on(StartSecondFactor.self) { command, _ in
      SecondFactorCallTests.started(command, command.idToken == nil ? "sign-in" : "enrollment")
    }
    fixture.services.on(FinishSecondFactor.self) { command, asked in try asked.signedIn(nil, to: command.replyKey) }
    messages.add("+14155550123", "111111 is a code to sign in")
    _ = try await fixture.post(Self.send, #"{"phoneNumber":"+14155550123"}"#)
    fixture.clocks.advance(by: .seconds(10))
    // The code of another purpose is another one, also while the first one counts.
    _ = try await fixture.post(
      factors + "Enrollment:start", #"{"idToken":"t","phoneEnrollmentInfo":{"phoneNumber":"+14155550123"}}"#)
    #expect(try await fixture.get(Self.codes) == Self.noCodes)
    messages.add("+14155550123", "222222", after: 10)
    let enrollment = Self.entry("+14155550123", "enrollment", "222222")
    #expect(try await fixture.get(Self.codes) == ["verificationCodes": [enrollment]])
    _ = try await fixture.post(
      factors + "Enrollment:finalize",
      #"{"idToken":"t","phoneVerificationInfo":{"sessionInfo":"enrollment","code":"222222"}}"#)
    #expect(try await fixture.get(Self.codes) == Self.noCodes)
    fixture.clocks.advance(by: .seconds(10))
    _ = try await fixture.post(
      factors + "SignIn:start", #"{"mfaPendingCredential":"p","mfaEnrollmentId":"f"}"#)
    // Another number of the same length, and one with the same digits at its end that is shorter.
    for other in ["+14155550124", "+4155550123"] { messages.add(other, "333333", after: 30) }
    messages.add("+14155550123", "444444", after: 30)
    let signIn = Self.entry("+14155550123", "sign-in", "444444")
    #expect(try await fixture.get(Self.codes) == ["verificationCodes": [signIn]])
    _ = try await fixture.post(
      factors + "SignIn:finalize",
      #"{"mfaPendingCredential":"p","phoneVerificationInfo":{"sessionInfo":"sign-in","code":"444444"}}"#)
    #expect(try await fixture.get(Self.codes) == Self.noCodes)
  }

  @Test func `Links of mails are shown while their codes are good`() async throws {
    let messages = Messages()
    let fixture = try fixture(messages)
    fixture.services.on(ApplyMailLink.self) { command, asked throws in
      #expect(command.isLook == true)
      #expect(try asked.open(command.code) == "a+b")
      return MailLinkApplied(purpose: .resetPassword, email: "ada@example.com")
    }
    #expect(try await fixture.get(Self.mailed) == ["oobCodes": []])
    let link = "http://127.0.0.1:9099/__/auth/action?mode=resetPassword&oobCode=a%2Bb&lang=en"
    messages.add("ada@example.com", "Hello,\n\nSave:\n\(link)\n\nhttps://example.com/?page=1")
    let entry: JSONValue = [
      "email": "ada@example.com", "requestType": "PASSWORD_RESET", "oobCode": "a+b", "oobLink": .text(link),
    ]
    #expect(try await fixture.get(Self.mailed) == ["oobCodes": [entry]])
    fixture.services.refuse(ApplyMailLink.self, APIError(.invalidOobCode, "used"))
    #expect(try await fixture.get(Self.mailed) == ["oobCodes": []])
  }

  private func signIn(_ fixture: CallFixture, _ session: String) async throws {
    fixture.services.on(SignInWithPhone.self) { command, asked in try asked.signedIn(to: command.replyKey) }
    _ = try await fixture.post(
      CallFixture.v1 + "accounts:signInWithPhoneNumber", #"{"sessionInfo":"\#(session)","code":"476431"}"#)
  }

  @Test func `A code that is asked for at once is waited for, and one that does not come not for long`() async throws {
    let messages = Messages()
    let looks = Mutex(0)
    let fixture = try fixture(messages) {
      let count = looks.withLock { looks in
        looks += 1
        return looks
      }
      if count == 3 { messages.add("+14155550123", "476431 is your code") }
    }
    _ = try await fixture.post(Self.send, #"{"phoneNumber":"+14155550123"}"#)
    let entry = Self.entry("+14155550123", "session-1", "476431")
    #expect(try await fixture.get(Self.codes) == ["verificationCodes": [entry]])
    #expect(looks.withLock { $0 } == 3)
    // Another number, whose SMS never comes: what is there is answered in the end, and then at once.
    _ = try await fixture.post(Self.send, #"{"phoneNumber":"+14155550124"}"#)
    let before = fixture.clocks.wall.now()
    #expect(try await fixture.get(Self.codes) == ["verificationCodes": [entry]])
    let waited = fixture.clocks.wall.now() - before
    #expect(waited >= DevelopmentCalls.patience && waited < DevelopmentCalls.patience + .seconds(1))
    let count = looks.withLock { $0 }
    #expect(try await fixture.get(Self.codes) == ["verificationCodes": [entry]])
    #expect(looks.withLock { $0 } == count)
  }

  @Test func `Tools that wait for the emulator are told that it is ready`() async throws {
    #expect(try await fixture(nil).get("/") == ["authEmulator": ["ready": true]])
  }

  @Test func `Emptying accounts empties limits and codes too`() async throws {
    let messages = Messages()
    let fixture = try fixture(messages)
    _ = try await fixture.post(Self.send, #"{"phoneNumber":"+14155550123"}"#)
    messages.add("+14155550123", "476431")
    #expect(try await fixture.delete(Self.accounts) == [:])
    #expect(fixture.services.messages.map(\.type).suffix(2) == ["account.reset.v1", "development.reset.v1"])
    #expect(try await fixture.get(Self.codes) == Self.noCodes)
  }

  @Test func `A simulator that does not answer is told of; without one there are no codes`() async throws {
    let messages = Messages()
    messages.sent.withLock { $0 = .failure(.noMessages) }
    let fixture = try fixture(messages)
    #expect(try await fixture.get(Self.codes) == Self.noCodes)
    _ = try await fixture.post(Self.send, #"{"phoneNumber":"+14155550123"}"#)
    let error = await #expect(throws: ProtocolError.self) { try await fixture.get(Self.codes) }
    #expect(error?.status == 503)
    let without = try self.fixture(nil)
    _ = try await without.post(Self.send, #"{"phoneNumber":"+14155550123"}"#)
    #expect(try await without.get(Self.codes) == Self.noCodes)
  }

  @Test func `Outside development mode nothing is remembered, and there is nothing to call`() throws {
    let paths = try CallFixture().calls.routes.filter { $0.access == .development }
    #expect(paths.isEmpty)
    #expect(try CallFixture(isDevelopment: true).calls.routes.filter { $0.access == .development }.count == 6)
  }

  @Test func `No more sessions are remembered than named`() {
    let codes = SentCodes()
    for number in 0..<(SentCodes.maxSessions + 10) {
      codes.remember(
        SentCodes.Session(
          project: "example", app: "a", purpose: .signIn, phoneNumber: "+1415\(number)", sessionInfo: "\(number)",
          codeLength: 6, since: CallFixture.now, expiresAt: CallFixture.now + .seconds(300)), at: CallFixture.now)
    }
    let live = codes.live(of: "example", at: CallFixture.now)
    #expect(live.count == SentCodes.maxSessions && live.first?.sessionInfo == "10")
    #expect(codes.live(of: "other", at: CallFixture.now).isEmpty)
  }

  @Test func `Every address is served once, to apps and to administrators`() throws {
    let routes = try CallFixture(isDevelopment: true).calls.routes
    let addresses = routes.flatMap { route in
      route.paths.map { "\(route.access == .administrator) \(route.method?.rawValue ?? "*") \($0)" }
    }
    #expect(Set(addresses).count == addresses.count)
  }
}
