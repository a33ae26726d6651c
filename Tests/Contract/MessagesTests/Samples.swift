import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import TestSupport

/// Of every message of the contract, bodies that together have every field, and one with as few as there may be.
struct Sample: Sendable, CustomStringConvertible {
  let type: MessageType
  /// The bodies as JSON. The last one has only what is required.
  let bodies: [[UInt8]]

  var description: String { type.text }

  init<Body: MessageBody>(_ full: [Body], least: Body) throws {
    type = Body.type
    bodies = try (full + [least]).map { body in
      let json = try body.json()
      // What was encoded can be decoded, and is the same then.
      guard try JSONValue(parsing: Body(json: json).json()) == JSONValue(parsing: json) else {
        throw ContractProblem(.invalidField, "\(Body.type) does not survive the round trip")
      }
      return json
    }
  }

  private init(of type: MessageType, _ bodies: [[UInt8]]) {
    (self.type, self.bodies) = (type, bodies)
  }

  private init(_ full: JobResult, least: JobResult, of job: MessageType) throws {
    type = JobResult.type(ofJob: job)
    bodies = try [full.json(), least.json()]
  }

  static func all() throws -> [Sample] {
    try commands() + replies() + events() + jobs() + [delivery()]
  }

  static let time = UnixTime(milliseconds: 1_782_907_200_250)
  static let secret = SecretField(Secret("123456"))
  static let number = "+14155550123"
  static let app = "com.example.app"

  static func commands() throws -> [Sample] {
    var proof = StartVerification.Proof(receipt: "r", secret: secret)
    proof.recaptchaToken = secret
    proof.recaptchaAction = "signup"
    let client = StartVerification.Client(ip: "192.0.2.1", userAgent: "a", instance: "i")
    var start = StartVerification(
      phoneNumber: number, app: app, languageCode: "pt-BR", proof: proof, client: client,
      purpose: .secondFactorSignIn, subject: "s", requester: "q")
    start.region = "US"
    start.fictionalOnly = true
    start.variables = ["plan": "Gold"]
    return [
      try Sample(
        [
          start,
          StartVerification(phoneNumber: number, app: app, client: client, purpose: .signIn),
        ],
        least: StartVerification(phoneNumber: number, app: app)),
      try Sample(
        [
          CheckVerification(
            verificationID: "v", code: secret, app: app, purpose: .secondFactorEnrollment, subject: "s", client: client)
        ], least: CheckVerification(verificationID: "v", code: secret)),
      try Sample(
        [GetVerificationStatus(verificationID: "v", app: app, purpose: .verification, subject: "s")],
        least: GetVerificationStatus(verificationID: "v")),
      try Sample(
        [FindVerifications(phoneNumber: number, since: time, after: "n")],
        least: FindVerifications(phoneNumber: number)),
      try Sample(
        [CancelVerification(verificationID: "v", app: app, purpose: .verification, subject: "s")],
        least: CancelVerification(verificationID: "v")),
      try Sample(
        [
          VerifyApp(
            app: app, deviceToken: "00FC", environment: .sandbox, client: client)
        ],
        least: VerifyApp(app: app, deviceToken: "00fc")),
      try Sample([], least: GetOperationStatus(operationID: "o")),
      try Sample([], least: ConfirmRevocation(operationID: "o", confirmedAt: time)),
      try Sample([ListConversions(limit: 5)], least: ListConversions()),
      try Sample([], least: LiftConversionBlock(key: "US")),
      try Sample([forgetNumber()], least: ForgetNumber(phoneNumber: number)),
      try Sample([], least: ResetDevelopment()),
      try Sample([NoteAct(act: "dead.redrive", subject: "sms.dispatch")], least: NoteAct(act: "dead.redrive")),
      try Sample([listOperatorActs()], least: ListOperatorActs(limit: 200)),
    ] + [try revocations()] + (try accountCommands())
  }

  private static func forgetNumber() -> ForgetNumber {
    var command = ForgetNumber(phoneNumber: number)
    (command.startedBefore, command.apps, command.keepsLimits) = (time, [app], true)
    return command
  }

  private static func listOperatorActs() -> ListOperatorActs {
    var command = ListOperatorActs(limit: 1)
    command.after = "n"
    return command
  }

  private static func operatorActs() -> OperatorActsListed {
    var act = OperatorAct(by: "operator", act: "conversion.lift", actedAt: time)
    act.subject = "US"
    var acts = OperatorActsListed(acts: [act, OperatorAct(by: "operator", act: "number.forget", actedAt: time)])
    acts.next = "n"
    return acts
  }

  private static func revocations() throws -> Sample {
    let notice = StartRevocation.Notice(email: "a@example.com", languageCode: "fr", template: "t")
    return try Sample(
      AppleToken.Kind.allCases.map { kind in
        var command = StartRevocation(
          app: app, clientID: "c", token: AppleToken(kind, secret), redirectURI: "https://example.com/", notify: notice)
        command.subject = kind == .authorizationCode ? "s" : nil
        return command
      },
      least: StartRevocation(app: app, token: .refreshToken(secret)))
  }

  static func replies() throws -> [Sample] {
    var entry = VerificationStatus.Entry(
      at: time, event: "sms.accepted", job: 1, lane: "l", reference: "r", reason: "R", detail: "d")
    (entry.worker, entry.attempts, entry.segments, entry.nextAttemptAt, entry.by) = ("w", 1, 1, time, "accounts")
    var operation = OperationStatus(
      operationID: "o", kind: .appleRevocation, app: app, state: .completed, failure: .init(code: "C", detail: "d"),
      startedAt: time, expiresAt: time, timeline: [entry])
    operation.ending = .revokedNoticeRefused
    var found = VerificationsFound.Verification(
      verificationID: "v", app: app, state: .failed, startedAt: time, testNumber: false)
    (found.purpose, found.reason, found.sms) = (.secondFactorSignIn, "R", entry)
    return [
      try Sample(
        [
          VerificationStatus(
            verificationID: "v", app: app, phoneNumber: number, state: .failed, expiresAt: time,
            failure: .init(code: "C", detail: "d"), timeline: [entry, .init(at: time, event: "failed")],
            purpose: .secondFactorSignIn)
        ],
        least: VerificationStatus(
          verificationID: "v", app: app, phoneNumber: number, state: .pending, expiresAt: time, timeline: [])),
      try Sample(
        [VerificationsFound(verifications: [found], retentionSeconds: 86_400, next: "n")],
        least: VerificationsFound(verifications: [], retentionSeconds: 86_400)),
      try Sample(
        [ErrorReply(APIError(.quotaExceeded, "m", field: "f", retryAfter: 1, reason: "R", attemptsLeft: 2))],
        least: ErrorReply(APIError(.internalError, "m"))),
      try Sample([], least: AppVerifying(receipt: "r", suggestedTimeout: 10)),
      try Sample(
        [operation],
        least: OperationStatus(
          operationID: "o", kind: .appVerification, app: app, state: .running, startedAt: time, expiresAt: time,
          timeline: [])),
      try conversionList(),
      try Sample([], least: NumberForgotten(verifications: 2, canceled: 1, replies: 3, waiting: 0, counts: 1)),
      try Sample([], least: DevelopmentReset()),
      try Sample([], least: ActNoted()),
      try Sample([operatorActs()], least: OperatorActsListed(acts: [])),
    ] + (try accountReplies())
  }

  private static func conversionList() throws -> Sample {
    let figures = ConversionList.Figures(key: "US", region: "US", sent: 50, verified: 4)
    let block = ConversionList.Block(
      scope: .prefix, key: "+1415555", region: "US", blockedAt: time, until: time, sent: 50, verified: 4)
    return try Sample(
      [
        ConversionList(
          enabled: true, floorPercent: 10, windowSeconds: 3600, blockCount: 1, blocks: [block], regions: [figures],
          prefixes: [figures])
      ],
      least: ConversionList(
        enabled: false, floorPercent: 10, windowSeconds: 3600, blockCount: 0, blocks: [], regions: [], prefixes: []))
  }

  private static func conversionEvents() throws -> [Sample] {
    [
      try Sample(
        [],
        least: ConversionBlocked(
          ConversionList.Block(
            scope: .region, key: "US", region: "US", blockedAt: time, until: time, sent: 50, verified: 4),
          floorPercent: 10, windowSeconds: 3600)),
      try Sample(
        [],
        least: ConversionLifted(
          scope: .prefix, key: "+1415555", region: "US", blockedAt: time, until: time, liftedAt: time)),
    ]
  }

  static func events() throws -> [Sample] {
    var started = VerificationStarted(
      verificationID: "v", app: app, phoneNumber: number, codeLength: 6, expiresAt: time, resendAfter: 30,
      resent: false, testNumber: true)
    started.purpose = .secondFactorSignIn
    var undelivered = VerificationUndelivered(
      verificationID: "v", app: app, phoneNumber: number, undeliveredAt: time, job: 1, lane: "l", reference: "r",
      reason: .init(code: "C", detail: "d"))
    undelivered.purpose = .secondFactorSignIn
    return [
      try Sample(
        [started],
        least: VerificationStarted(
          verificationID: "v", app: app, phoneNumber: number, codeLength: 6, expiresAt: time, resendAfter: 30,
          resent: false, testNumber: true)),
      try Sample(
        [
          VerificationSent(
            verificationID: "v", app: app, phoneNumber: number, sentAt: time, job: 1, lane: "l", reference: "r",
            purpose: .secondFactorSignIn)
        ],
        least: VerificationSent(verificationID: "v", app: app, phoneNumber: number, sentAt: time, job: 1)),
      try Sample(
        [
          VerificationDelivered(
            verificationID: "v", app: app, phoneNumber: number, deliveredAt: time, job: 1, lane: "l", reference: "r",
            purpose: .secondFactorSignIn)
        ],
        least: VerificationDelivered(verificationID: "v", app: app, phoneNumber: number, deliveredAt: time, job: 1)),
      try Sample(
        [undelivered],
        least: VerificationUndelivered(
          verificationID: "v", app: app, phoneNumber: number, undeliveredAt: time, job: 1)),
      try Sample(
        [
          VerificationApproved(
            verificationID: "v", app: app, phoneNumber: number, approvedAt: time, purpose: .secondFactorEnrollment,
            subject: "s", testNumber: true)
        ], least: VerificationApproved(verificationID: "v", app: app, phoneNumber: number, approvedAt: time)),
      try Sample(
        [
          VerificationFailed(
            verificationID: "v", app: app, phoneNumber: number, failedAt: time, failure: .init(code: "C", detail: "d"),
            purpose: .secondFactorSignIn)
        ],
        least: VerificationFailed(
          verificationID: "v", app: app, phoneNumber: number, failedAt: time, failure: .init(code: "C"))),
      try Sample(
        [
          VerificationExpired(
            verificationID: "v", app: app, phoneNumber: number, expiredAt: time, purpose: .secondFactorSignIn)
        ], least: VerificationExpired(verificationID: "v", app: app, phoneNumber: number, expiredAt: time)),
      try Sample(
        [
          VerificationCanceled(
            verificationID: "v", app: app, phoneNumber: number, canceledAt: time, purpose: .secondFactorSignIn)
        ], least: VerificationCanceled(verificationID: "v", app: app, phoneNumber: number, canceledAt: time)),
    ] + (try operationEvents()) + (try conversionEvents()) + (try accountEvents())
  }

  private static func operationEvents() throws -> [Sample] {
    let failure = VerificationStatus.Failure(code: "C", detail: "d")
    let completed = OperationCompleted(
      operationID: "o", kind: .appleRevocation, app: app, completedAt: time, ending: .revokedNoticeUnknown,
      failure: failure)
    return [
      try Sample(
        [AppVerified(app: app, method: .recaptcha, verifiedAt: time, receipt: "r", score: 0.5)],
        least: AppVerified(app: app, method: .push, verifiedAt: time)),
      try Sample(
        [AppUnverified(receipt: "r", app: app, failedAt: time, failure: failure)],
        least: AppUnverified(receipt: "r", app: app, failedAt: time, failure: .init(code: "C"))),
      try Sample(
        [],
        least: OperationStarted(
          operationID: "o", kind: .appleRevocation, app: app, startedAt: time, repeated: false)),
      try Sample(
        [completed],
        least: OperationCompleted(
          operationID: "o", kind: .appleRevocation, app: app, completedAt: time, ending: .revoked)),
      try Sample(
        [
          OperationFailed(
            operationID: "o", kind: .appleRevocation, app: app, failedAt: time, ending: .lost, failure: failure)
        ],
        least: OperationFailed(
          operationID: "o", kind: .appleRevocation, app: app, failedAt: time, ending: .refused,
          failure: .init(code: "C"))),
    ]
  }

  static func jobs() throws -> [Sample] {
    let variables = SMSDispatchJob.Variables(
      code: secret, appName: "a", domain: "example.com", androidHash: "FA+9qCX9VSu", custom: ["plan": "Gold"])
    return [
      try Sample(
        [
          SMSDispatchJob(
            to: number, content: .template(name: "t", languageCode: "fr", variables: variables), app: app, lane: "l",
            deadline: time, onUnknown: .resend)
        ],
        least: SMSDispatchJob(to: number, content: .text("Hi"), deadline: time)),
      try Sample(
        [],
        least: PushVerifyJob(
          app: app, deviceToken: "00fc", environment: .unknown, receipt: "r", secret: secret, deadline: time)),
      try Sample(
        [
          RecaptchaAssessJob(
            app: app, token: secret, expectedAction: "a", client: .init(ip: "192.0.2.1", userAgent: "a"),
            phoneNumber: number, deadline: time)
        ],
        least: RecaptchaAssessJob(app: app, token: secret, expectedAction: "a", deadline: time)),
      try mailJob(),
      try Sample([], least: MailForgetJob(addresses: ["a@example.com"], knownBefore: time, deadline: time)),
      try revocation(),
    ] + (try types.map(result)) + (try types.map(delay))
  }

  private static let types = [
    SMSDispatchJob.type, PushVerifyJob.type, RecaptchaAssessJob.type, MailRelayJob.type, MailForgetJob.type,
    AppleRevokeJob.type,
  ]

  private static func delay(ofJob type: MessageType) throws -> Sample {
    func body(_ reason: JobResult.Reason) -> JobDelayed {
      JobDelayed(jobID: "j", reason: reason, attempts: 1, nextAttemptAt: time)
    }
    return Sample(
      of: JobDelayed.type(ofJob: type),
      [body(.init(code: "C", detail: "d", providerCode: "503")).fastJSON, body(.init(code: "C")).fastJSON])
  }

  private static func revocation() throws -> Sample {
    try Sample(
      AppleToken.Kind.allCases.map { kind in
        var job = AppleRevokeJob(
          app: app, clientID: "c", token: AppleToken(kind, secret), redirectURI: "https://example.com/", deadline: time)
        job.subject = "s"
        return job
      },
      least: AppleRevokeJob(app: app, token: .refreshToken(secret), deadline: time))
  }

  private static func mailJob() throws -> Sample {
    let address = "ada@example.com"
    let variables = MailRelayJob.Variables(
      code: secret, link: secret, appName: "a", change: "c", secondFactor: "+*******0123", custom: ["plan": "Gold"])
    return try Sample(
      [
        MailRelayJob(
          to: address, from: address, content: .template(name: "t", languageCode: "fr", variables: variables),
          unsubscribeURL: "https://example.com/u", deadline: time, onUnknown: .resend),
        MailRelayJob(to: address, content: .message(subject: "S", text: "T", html: "<p>T</p>"), deadline: time),
      ],
      least: MailRelayJob(to: address, content: .message(subject: "S", text: "T", html: nil), deadline: time))
  }

  private static func delivery() throws -> Sample {
    try Sample(
      [
        SMSDeliveryReport(
          jobID: "j", state: .undelivered, lane: "l", reference: "r",
          reason: .init(code: "C", detail: "d", providerCode: "30005"), at: time)
      ],
      least: SMSDeliveryReport(state: .delivered, lane: "l", at: time))
  }

  /// All job types share the form of their results, so each sample has the fields of all.
  private static func result(ofJob type: MessageType) throws -> Sample {
    try Sample(
      JobResult(
        jobID: "j", outcome: .refused, lane: "l", reference: "r",
        reason: .init(code: "C", detail: "d", providerCode: "21211"), attempts: 1, startedAt: time, finishedAt: time
      ).adding([
        "segments": 1, "encoding": "gsm7", "nationalLanguage": "turkish", "suppress": true, "apnsID": "i",
        "environment": "sandbox",
        "unregisteredAt": .string(time.rfc3339), "score": 0.5, "tollFraudRisk": 0.5, "action": "a",
        "stage": "revoked", "tokenKind": "authorizationCode", "subject": "s",
      ]),
      least: JobResult(jobID: "j", outcome: .accepted, attempts: 0, startedAt: time, finishedAt: time), of: type)
  }
}
