import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@Suite struct BodyTests {
  static let deadline = UnixTime(seconds: 1_782_907_200)

  private func text(_ body: some MessageBody) throws -> String {
    String(decoding: try body.json(), as: UTF8.self)
  }

  private func problem<Body: MessageBody>(_ type: Body.Type, _ json: String) -> ContractProblem? {
    do {
      _ = try Body(json: Array(json.utf8))
      return nil
    } catch {
      return error
    }
  }

  @Test func `A start is compact and leaves out what is absent`() throws {
    let json = try text(StartVerification(phoneNumber: "+14155550123", app: "com.example/app"))
    let expected = #"{"phoneNumber":"+14155550123","app":"com.example/app"}"#
    #expect(json.utf8.sorted() == expected.utf8.sorted())
    #expect(try JSONValue(parsing: json) == JSONValue(parsing: expected))
  }

  @Test func `A job with a text of its own is read and written`() throws {
    let job = SMSDispatchJob(to: "+14155550123", content: .text("Hi"), deadline: Self.deadline)
    let expected = #"{"to":"+14155550123","text":"Hi","deadline":"2026-07-01T12:00:00Z"}"#
    #expect(try JSONValue(parsing: text(job)) == JSONValue(parsing: expected))
    #expect(try SMSDispatchJob(json: job.json()) == job)
  }

  @Test func `A job with a template`() throws {
    let job = SMSDispatchJob(
      to: "+14155550123",
      content: .template(
        name: "verification", languageCode: "pt-BR",
        variables: .init(code: SecretField(Secret("123456")), appName: "App", domain: "example.com")),
      lane: "twilio", deadline: Self.deadline, onUnknown: .resend)
    let json = try job.json()
    let expected =
      #"{"to":"+14155550123","template":"verification","languageCode":"pt-BR","variables":"#
      + #"{"code":"123456","appName":"App","domain":"example.com"},"lane":"twilio","#
      + #""deadline":"2026-07-01T12:00:00Z","onUnknown":"resend"}"#
    #expect(try JSONValue(parsing: json) == JSONValue(parsing: expected))
    #expect(try SMSDispatchJob(json: json) == job)
  }

  @Test(arguments: AppleToken.Kind.allCases)
  func `A revocation has one token`(kind: AppleToken.Kind) throws {
    let job = AppleRevokeJob(
      app: "com.example.app", clientID: "com.example.web", token: AppleToken(kind, SecretField(Secret("t"))),
      redirectURI: "https://example.com/", deadline: Self.deadline)
    let expected =
      #"{"app":"com.example.app","clientID":"com.example.web",""# + kind.rawValue
      + #"":"t","redirectURI":"https://example.com/","deadline":"2026-07-01T12:00:00Z"}"#
    #expect(try JSONValue(parsing: text(job)) == JSONValue(parsing: expected))
    #expect(try AppleRevokeJob(json: job.json()) == job)
    #expect(job.token.kind == kind)
  }

  @Test(
    arguments: [
      (#""more":1"#, "authorizationCode", "is missing: give one of authorizationCode, refreshToken, accessToken"),
      (
        #""refreshToken":"t","accessToken":"u""#, "refreshToken", "is given together with accessToken: give one of them"
      ),
      (#""authorizationCode":5"#, "authorizationCode", "must be a string"),
    ])
  func `A revocation without one token is none`(fields: String, field: String, detail: String) {
    let found = problem(AppleRevokeJob.self, #"{"app":"a","deadline":"2026-07-01T12:00:00Z",\#(fields)}"#)
    #expect(found?.field == field)
    #expect(found?.detail == detail)
  }

  @Test func `Unknown fields are ignored`() throws {
    let body = try CancelVerification(json: Array(#"{"verificationID":"v","more":{"x":[1]}}"#.utf8))
    #expect(body.verificationID == "v")
  }

  @Test(
    arguments: [
      (#"{"#, "NOT_JSON", nil, "the body is empty or ends before everything in it is closed"),
      (#""#, "NOT_JSON", nil, "the body is empty or ends before everything in it is closed"),
      (#"{"to":01}"#, "NOT_JSON", nil, "the body is not valid JSON (line 1)"),
      (#"{"to":"a","text":"b","to":"c"}"#, "NOT_JSON", nil, "the body has a name twice in one object (line 1)"),
      (#"[]"#, "NOT_JSON", nil, "the body must be an object"),
      (String(repeating: "[", count: 513), "NOT_JSON", nil, "the body nests deeper than 32 levels"),
      (
        #"{"to":"+14155550123","x":"# + String(repeating: "[", count: 512), "NOT_JSON", nil,
        "the body nests deeper than 32 levels"
      ),
      ("\u{FEFF}{}", "NOT_JSON", nil, "the body starts with a byte order mark; it must be UTF-8 without one"),
      ("{\0}", "NOT_JSON", nil, "the body holds a NUL byte; it must be UTF-8"),
      (#"{"text":"Hi","deadline":"2026-07-01T12:00:00Z"}"#, "MISSING_FIELD", "to", "to is missing"),
      (#"{"to":null,"text":"Hi"}"#, "MISSING_FIELD", "to", "to is null"),
      (#"{"to":5,"text":"Hi"}"#, "INVALID_FIELD", "to", "to must be a string"),
      (
        #"{"to":"+1","deadline":"2026-07-01T12:00:00Z"}"#, "INVALID_FIELD", "text",
        "text is missing, and so is template: give one of them"
      ),
      (
        #"{"to":"+1","text":"a","template":"b"}"#, "INVALID_FIELD", "text",
        "text is given together with template: give one of them"
      ),
      (
        #"{"to":"+1","text":"a","deadline":"987654"}"#, "INVALID_FIELD", "deadline",
        "deadline must be an RFC 3339 date and time such as 2026-07-01T12:30:00Z"
      ),
      (
        #"{"to":"+1","text":"a","deadline":"2026-07-01T12:00:00Z","onUnknown":"987654"}"#, "INVALID_FIELD", "onUnknown",
        "onUnknown must be one of report, resend"
      ),
      (
        #"{"to":"+1","template":"a","variables":{"code":987654}}"#, "INVALID_FIELD", "variables.code",
        "variables.code must be a string"
      ),
      (
        #"{"to":"+1","template":"a","variables":["987654"]}"#, "INVALID_FIELD", "variables",
        "variables must be an object"
      ),
    ] as [(String, String, String?, String)])
  func `Problems name the field and never the value`(json: String, code: String, field: String?, description: String) {
    let problem = problem(SMSDispatchJob.self, json)
    #expect(problem?.code.rawValue == code)
    #expect(problem?.field == field)
    #expect(problem?.description == description)
  }

  @Test func `Numbers out of range are not repeated`() {
    let json = #"{"jobID":"j","outcome":"accepted","attempts":98765432109876543210}"#
    let error = #expect(throws: ContractProblem.self) { try JobResult(json: Array(json.utf8)) }
    #expect(error?.description.contains("out of range") == true)
    #expect(error?.description.contains("98765") == false)
  }

  @Test func `Invalid UTF-8 is not JSON`() {
    #expect(throws: ContractProblem.self) { try CancelVerification(json: [0x7B, 0x22, 0xFF, 0x22, 0x7D]) }
  }

  @Test func `Too large on both sides`() {
    let long = String(repeating: "x", count: MessageLimits.maxBodyBytes)
    #expect(throws: ContractProblem.self) { try CancelVerification(verificationID: long).json() }
    #expect(problem(CancelVerification.self, #"{"verificationID":""# + long + #""}"#)?.code == .bodyTooLarge)
  }

  @Test func `A secret does not print`() {
    let command = CheckVerification(verificationID: "v", code: SecretField(Secret("123456")))
    var dumped = ""
    dump(command, to: &dumped)
    #expect(!"\(command)\(dumped)".contains("123456"))
  }

  @Test func `Open words keep what they do not know`() throws {
    let reply = try ErrorReply(json: Array(#"{"error":{"code":"NEW_CODE","message":"m","retryAfter":7}}"#.utf8))
    #expect(reply.error.code.rawValue == "NEW_CODE")
    #expect(reply.error.isRetriable)
  }

  @Test(
    arguments: [
      ("sms.dispatch.v1", "sms.dispatch", 1), ("error.v12", "error", 12),
    ])
  func `Message types are read`(text: String, name: String, version: Int) {
    #expect(MessageType(parsing: text) == MessageType(name, version: version))
    #expect(MessageType(name, version: version).text == text)
  }

  @Test(
    arguments: [
      "", "sms.dispatch", ".v1", "sms.dispatch.v0", "sms.dispatch.v01", "sms.v-1", "sms.v+1", "sms.v", "v1",
    ])
  func `Malformed message types are refused`(text: String) {
    #expect(MessageType(parsing: text) == nil)
  }
}
